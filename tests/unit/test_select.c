/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes: "server" with the threads "main" and "worker", and "tool". Each row has a weight
 * of its own, so that a sum says which rows are left.
 */
#include "select/select.h"

#include "profile_fixture.h"

static kymo_profile *whole, *part;
static uint32_t stacks[3]; /* main; main;parse; main;parse;read */

static uint32_t add_named(uint32_t parent, const char *name)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(whole, add_function(whole, name, KYMO_NONE),
                                    KYMO_CATEGORY_PROGRAM, &frame));
    return add_stack(whole, parent, frame);
}

static void add_weight(uint32_t thread, uint64_t time_ns, uint32_t stack, uint64_t weight)
{
    ok(kymo_profile_add_sample(whole, thread, time_ns, stack, weight, KYMO_SAMPLE_CPU, 0));
}

static uint32_t add_process_called(const char *name, int32_t pid)
{
    uint32_t id;
    kymo_process p = {.size = sizeof p, .pid = pid, .name = name, .exit_status = -1};
    ok(kymo_profile_add_process(whole, &p, &id));
    return id;
}

static uint32_t add_thread_called(const char *name, uint32_t process, int32_t tid)
{
    uint32_t id;
    kymo_thread t = {.size = sizeof t, .process = process, .tid = tid, .name = name};
    ok(kymo_profile_add_thread(whole, &t, &id));
    return id;
}

static int setup(void **state)
{
    (void)state;
    part = NULL;
    whole = new_profile();
    kymo_meta meta = {.size = sizeof meta, .origin_monotonic_ns = 1000, .end_ns = 11000};
    ok(kymo_profile_set_meta(whole, &meta));
    uint32_t server = add_process_called("server", 7);
    uint32_t tool = add_process_called("tool", 9);
    uint32_t main = add_thread_called("main", server, 7);
    uint32_t worker = add_thread_called("worker", server, 8);
    uint32_t other = add_thread_called("main", tool, 9);
    stacks[0] = add_named(KYMO_NONE, "main");
    stacks[1] = add_named(stacks[0], "parse");
    stacks[2] = add_named(stacks[1], "read");
    add_weight(main, 2000, stacks[0], 1);
    add_weight(main, 3000, stacks[2], 2);
    add_weight(worker, 4000, stacks[1], 4);
    add_weight(worker, 5000, KYMO_NONE, 8);
    add_weight(other, 6000, stacks[2], 16);
    ok(kymo_profile_finish(whole));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(part);
    kymo_profile_destroy(whole);
    return 0;
}

static uint64_t left(const kymo_selection *selection)
{
    uint64_t sum = 0;
    kymo_profile_destroy(part);
    part = NULL;
    ok(kymo_select(whole, selection, NULL, &part, NULL));
    for (uint32_t t = 0; t < kymo_profile_count(part, KYMO_TABLE_THREADS); t++) {
        kymo_samples s = kymo_profile_samples(part, t);
        for (size_t i = 0; i < s.count; i++)
            sum += s.weight_ns[i];
    }
    return sum;
}

static void all_is_all(void **state)
{
    (void)state;
    kymo_selection all = KYMO_SELECTION_ALL;
    assert_false(kymo_selection_is_part(&all));
    assert_int_equal(left(&all), 31);
    assert_int_equal(kymo_profile_count(part, KYMO_TABLE_THREADS), 3);
}

static void times_are_since_the_recordings_start(void **state)
{
    (void)state;
    kymo_selection s = KYMO_SELECTION_ALL;
    s.from_ns = 2000;
    s.to_ns = 4000;
    assert_true(kymo_selection_is_part(&s));
    assert_int_equal(left(&s), 2 + 4 + 8);
}

/* What came before a thread's samples has a sample, which is kept or not. */
static void the_start_of_a_process_is_kept_or_not(void **state)
{
    (void)state;
    kymo_selection s = KYMO_SELECTION_ALL;
    kymo_thread row = *kymo_profile_thread(whole, 0);
    row.startup_ns = 1;
    ok(kymo_profile_update_thread(whole, 0, &row));
    assert_int_equal(left(&s), 31);
    assert_int_equal(kymo_profile_thread(part, 0)->startup_ns, 1);
    s.to_ns = 4000;
    assert_int_equal(left(&s), 1 + 2 + 4 + 8);
    assert_int_equal(kymo_profile_thread(part, 0)->startup_ns, 1);
    s.from_ns = 2000;
    assert_int_equal(left(&s), 2 + 4 + 8);
    assert_int_equal(kymo_profile_thread(part, 0)->startup_ns, 0);
    assert_int_equal(kymo_profile_thread(part, 0)->cpu_ns, 2);
}

/* One sample of wall time may stand for all of a long wait. */
static void elapsed_time_is_cut(void **state)
{
    (void)state;
    kymo_selection s = KYMO_SELECTION_ALL;
    ok(kymo_profile_add_sample(whole, 0, 2000, stacks[0], 4000, KYMO_SAMPLE_WALL, 0));
    ok(kymo_profile_finish(whole));
    static const struct {
        uint64_t from_ns, to_ns, left;
    } rows[] = {{0, UINT64_MAX, 4000},   {2000, 3000, 1001}, {0, 1000, 1},
                {4999, UINT64_MAX, 1},   {0, 999, 0},        {5000, 9000, 0},
                {3001, UINT64_MAX, 1999}};
    s.threads[s.thread_count++] = "7";
    for (size_t i = 0; i < KYMO_ARRAY_LEN(rows); i++) {
        uint64_t sum = 0;
        s.from_ns = rows[i].from_ns;
        s.to_ns = rows[i].to_ns;
        kymo_profile_destroy(part);
        part = NULL;
        kymo_err err = kymo_select(whole, &s, NULL, &part, NULL);
        assert_int_equal(err, part ? KYMO_OK : KYMO_E_NOT_FOUND);
        kymo_samples left_ones = part ? kymo_profile_samples(part, 0) : (kymo_samples){0};
        for (size_t k = 0; k < left_ones.count; k++)
            if (left_ones.kind[k] == KYMO_SAMPLE_WALL) {
                sum += left_ones.weight_ns[k];
                assert_true(left_ones.time_ns[k] >= 1000 + s.from_ns);
            }
        assert_int_equal(sum, rows[i].left);
    }
}

static void threads_and_processes_by_name_pattern_or_number(void **state)
{
    (void)state;
    kymo_selection s = KYMO_SELECTION_ALL;
    s.threads[s.thread_count++] = "main";
    assert_int_equal(left(&s), 1 + 2 + 16);
    s.processes[s.process_count++] = "serv*";
    assert_int_equal(left(&s), 1 + 2);
    assert_int_equal(kymo_profile_count(part, KYMO_TABLE_PROCESSES), 1);
    s.threads[s.thread_count++] = "8";
    assert_int_equal(left(&s), 1 + 2 + 4 + 8);
    s.processes[0] = "9";
    s.thread_count = 1;
    assert_int_equal(left(&s), 16);
}

static void functions_by_expression(void **state)
{
    (void)state;
    regex_t parse, read;
    kymo_selection s = KYMO_SELECTION_ALL;
    assert_int_equal(regcomp(&parse, "^pars", REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(regcomp(&read, "re(ad|st)$", REG_EXTENDED | REG_NOSUB), 0);
    s.focus = &parse;
    assert_int_equal(left(&s), 2 + 4 + 16);
    s.ignore = &read;
    assert_int_equal(left(&s), 4);
    /* What no kept stack has is not in the copy. */
    for (uint32_t i = 0; i < kymo_profile_count(part, KYMO_TABLE_STRINGS); i++)
        assert_string_not_equal(kymo_profile_string(part, i), "read");
    s.focus = NULL;
    assert_int_equal(left(&s), 1 + 4 + 8);
    regfree(&parse);
    regfree(&read);
}

static void nothing_is_an_error_that_says_why(void **state)
{
    (void)state;
    kymo_selection s = KYMO_SELECTION_ALL;
    kymo_error detail = {.message = ""};
    s.threads[s.thread_count++] = "nobody";
    assert_int_equal(kymo_select(whole, &s, NULL, &part, &detail), KYMO_E_NOT_FOUND);
    assert_non_null(strstr(detail.message, "--thread 'nobody'"));
    assert_null(part);
}

static void nothing_may_be_what_is_wanted(void **state)
{
    (void)state;
    kymo_selection s = {.from_ns = UINT64_MAX - 1, .to_ns = UINT64_MAX, .may_be_empty = 1};
    assert_int_equal(kymo_select(whole, &s, NULL, &part, NULL), KYMO_OK);
    assert_int_equal(kymo_profile_sample_count(part), 0);
    assert_int_equal(kymo_profile_count(part, KYMO_TABLE_MARKERS), 0);
}

static void each_name_must_match(void **state)
{
    (void)state;
    kymo_selection s = KYMO_SELECTION_ALL;
    kymo_error detail = {.message = ""};
    s.threads[s.thread_count++] = "main";
    s.threads[s.thread_count++] = "misspelt";
    assert_int_equal(kymo_select(whole, &s, NULL, &part, &detail), KYMO_E_NOT_FOUND);
    assert_non_null(strstr(detail.message, "misspelt"));
    /* The worker is not of the other process. */
    s.threads[1] = "worker";
    s.processes[s.process_count++] = "tool";
    assert_int_equal(kymo_select(whole, &s, NULL, &part, &detail), KYMO_E_NOT_FOUND);
    assert_non_null(strstr(detail.message, "worker"));
    s.processes[s.process_count++] = "gone";
    assert_int_equal(kymo_select(whole, &s, NULL, &part, &detail), KYMO_E_NOT_FOUND);
    assert_non_null(strstr(detail.message, "--process 'gone'"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(all_is_all),
        T(times_are_since_the_recordings_start),
        T(the_start_of_a_process_is_kept_or_not),
        T(elapsed_time_is_cut),
        T(threads_and_processes_by_name_pattern_or_number),
        T(functions_by_expression),
        T(nothing_is_an_error_that_says_why),
        T(nothing_may_be_what_is_wanted),
        T(each_name_must_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
