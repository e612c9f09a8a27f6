/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/select_request.h"

#include "profile_fixture.h"

static struct kymo_select_request request;

static int setup(void **state)
{
    (void)state;
    kymo_select_request_init(&request, KYMO_IN_REPORT);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_select_request_deinit(&request);
    return 0;
}

static int take(kymo_switch_id id, const char *value)
{
    int is_known;
    const kymo_arg arg = {.kind = KYMO_ARG_SWITCH, .switch_id = id, .value = value};
    int status = kymo_select_request_switch(&request, &arg, &is_known);
    assert_true(is_known);
    return status;
}

static void words_become_a_selection(void **state)
{
    (void)state;
    assert_false(kymo_select_request_is_given(&request));
    assert_int_equal(take(KYMO_SWITCH_FROM, "1ms"), -1);
    assert_int_equal(take(KYMO_SWITCH_TO, "2ms"), -1);
    assert_int_equal(take(KYMO_SWITCH_THREAD, "main"), -1);
    assert_int_equal(take(KYMO_SWITCH_THREAD, "8"), -1);
    assert_int_equal(take(KYMO_SWITCH_PROCESS, "web*"), -1);
    /* The last one counts. */
    assert_int_equal(take(KYMO_SWITCH_FOCUS, "a|b"), -1);
    assert_int_equal(take(KYMO_SWITCH_FOCUS, "^c$"), -1);
    assert_int_equal(take(KYMO_SWITCH_IGNORE, "d"), -1);
    assert_int_equal(kymo_select_request_finish(&request, KYMO_SELECT_FOR_STACKS), -1);
    assert_true(kymo_select_request_is_given(&request));
    assert_int_equal(request.selection.from_ns, 1000000);
    assert_int_equal(request.selection.to_ns, 2000000);
    assert_int_equal(request.selection.thread_count, 2);
    assert_int_equal(regexec(request.selection.focus, "c", 0, NULL, 0), 0);
    assert_int_not_equal(regexec(request.selection.focus, "a", 0, NULL, 0), 0);
    assert_string_equal(kymo_str_cstr(&request.options),
                        "--from 1ms --to 2ms --process web* --thread main --thread 8 --focus ^c$ "
                        "--ignore d");
}

static void what_is_wrong_is_a_usage_error(void **state)
{
    (void)state;
    assert_int_equal(take(KYMO_SWITCH_FROM, "1"), KYMO_EXIT_USAGE);
    assert_int_equal(take(KYMO_SWITCH_TO, "soon"), KYMO_EXIT_USAGE);
    assert_int_equal(take(KYMO_SWITCH_FOCUS, "("), KYMO_EXIT_USAGE);
    assert_int_equal(take(KYMO_SWITCH_IGNORE, "[a"), KYMO_EXIT_USAGE);
    for (uint32_t i = 0; i < KYMO_SELECT_NAMES_MAX; i++)
        assert_int_equal(take(KYMO_SWITCH_THREAD, "x"), -1);
    assert_int_equal(take(KYMO_SWITCH_THREAD, "x"), KYMO_EXIT_USAGE);
}

static void the_range_must_not_be_empty(void **state)
{
    (void)state;
    assert_int_equal(take(KYMO_SWITCH_FROM, "2s"), -1);
    assert_int_equal(take(KYMO_SWITCH_TO, "1s"), -1);
    assert_int_equal(kymo_select_request_finish(&request, KYMO_SELECT_FOR_STACKS), KYMO_EXIT_USAGE);
}

static void a_moment_of_the_heap_is_in_the_range(void **state)
{
    (void)state;
    assert_int_equal(take(KYMO_SWITCH_FROM, "1s"), -1);
    assert_int_equal(take(KYMO_SWITCH_TO, "2s"), -1);
    assert_int_equal(kymo_select_request_check_moment(&request, KYMO_HEAP_END), -1);
    assert_int_equal(kymo_select_request_check_moment(&request, 1500000000), -1);
    assert_int_equal(kymo_select_request_check_moment(&request, 999999999), KYMO_EXIT_USAGE);
    assert_int_equal(kymo_select_request_check_moment(&request, 2000000001), KYMO_EXIT_USAGE);
}

static int finish_with(kymo_switch_id id, const char *value, enum kymo_select_use use)
{
    kymo_select_request_deinit(&request);
    kymo_select_request_init(&request, KYMO_IN_REPORT);
    assert_int_equal(take(id, value), -1);
    return kymo_select_request_finish(&request, use);
}

static void what_a_report_cannot_select_is_refused(void **state)
{
    (void)state;
    static const struct {
        kymo_switch_id id;
        const char *value;
        int for_markers, for_ledger;
    } rows[] = {
        {KYMO_SWITCH_FROM, "1s", -1, KYMO_EXIT_USAGE},
        {KYMO_SWITCH_TO, "1s", -1, KYMO_EXIT_USAGE},
        {KYMO_SWITCH_THREAD, "x", -1, KYMO_EXIT_USAGE},
        {KYMO_SWITCH_PROCESS, "x", -1, -1},
        {KYMO_SWITCH_FOCUS, "x", KYMO_EXIT_USAGE, KYMO_EXIT_USAGE},
        {KYMO_SWITCH_IGNORE, "x", KYMO_EXIT_USAGE, KYMO_EXIT_USAGE},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(rows); i++) {
        assert_int_equal(finish_with(rows[i].id, rows[i].value, KYMO_SELECT_FOR_MARKERS),
                         rows[i].for_markers);
        assert_int_equal(finish_with(rows[i].id, rows[i].value, KYMO_SELECT_FOR_LEDGER),
                         rows[i].for_ledger);
        assert_int_equal(finish_with(rows[i].id, rows[i].value, KYMO_SELECT_FOR_QUALITY),
                         KYMO_EXIT_USAGE);
    }
}

/* A sample after 1 us, of a file of this format (NULL: a recording). */
static kymo_profile *one_sample(const char *format)
{
    kymo_profile *p = new_profile();
    kymo_meta meta = {
        .size = sizeof meta, .format = format, .origin_monotonic_ns = 1000, .end_ns = 3000};
    ok(kymo_profile_set_meta(p, &meta));
    uint32_t thread = add_thread(p, add_process(p, 1, 0), 1, 0);
    ok(kymo_profile_add_sample(p, thread, 2000, KYMO_NONE, 1, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING));
    ok(kymo_profile_finish(p));
    return p;
}

static void assert_applies(const char *format, int wanted)
{
    kymo_profile *whole = one_sample(format);
    kymo_profile *part = NULL;
    assert_int_equal(kymo_select_request_apply(&request, "file", whole, NULL, &part), wanted);
    assert_int_equal(part != NULL, wanted == -1);
    kymo_profile_destroy(part);
    kymo_profile_destroy(whole);
}

static void times_need_a_file_with_times(void **state)
{
    (void)state;
    assert_int_equal(take(KYMO_SWITCH_FROM, "1us"), -1);
    assert_applies(NULL, -1);
    assert_applies("firefox", -1);
    assert_applies("pprof", KYMO_EXIT_USAGE);
    assert_applies("collapsed", KYMO_EXIT_USAGE);
    /* The end is at 2 us. */
    assert_int_equal(take(KYMO_SWITCH_FROM, "3us"), -1);
    assert_applies(NULL, KYMO_EXIT_USAGE);
}

static void nothing_selected_is_a_usage_error(void **state)
{
    (void)state;
    assert_int_equal(take(KYMO_SWITCH_THREAD, "nobody"), -1);
    assert_applies(NULL, KYMO_EXIT_USAGE);
}

static void without_a_word_there_is_no_copy(void **state)
{
    (void)state;
    kymo_profile *whole = one_sample(NULL);
    kymo_profile *part = whole;
    assert_int_equal(kymo_select_request_apply(&request, "file", whole, NULL, &part), -1);
    assert_null(part);
    kymo_profile_destroy(whole);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(words_become_a_selection),
        T(what_is_wrong_is_a_usage_error),
        T(the_range_must_not_be_empty),
        T(a_moment_of_the_heap_is_in_the_range),
        T(what_a_report_cannot_select_is_refused),
        T(times_need_a_file_with_times),
        T(nothing_selected_is_a_usage_error),
        T(without_a_word_there_is_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
