/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/report.h"

#include "profile_fixture.h"

static kymo_profile *profiles[2];
static kymo_report_diff *diff;
static uint32_t module[2], thread[2];
static uint64_t clock_ns;

/* Recorded from 1 us on, for so long; ended: to the program's end. */
static void start(int which, uint64_t elapsed_ns, int ended)
{
    kymo_profile *p = profiles[which] = new_profile();
    kymo_meta meta = {
        .size = sizeof meta, .origin_monotonic_ns = 1000, .end_ns = 1000 + elapsed_ns};
    kymo_process process = {.size = sizeof process, .pid = 7, .start_ns = 1000, .is_main = 1};
    uint32_t id;
    process.end_ns = ended ? 1000 + elapsed_ns : 0;
    ok(kymo_profile_set_meta(p, &meta));
    ok(kymo_profile_add_process(p, &process, &id));
    thread[which] = add_thread(p, id, 7, 1000);
    module[which] = add_module(p, id, "/bin/app", "id");
    clock_ns = 2000;
}

static void add_samples(int which, const char *name, int count, uint64_t weight_ns)
{
    kymo_profile *p = profiles[which];
    uint32_t frame = add_frame(p, module[which], clock_ns);
    kymo_line line = {.function = add_function(p, name, module[which])};
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, KYMO_NONE, 1));
    uint32_t stack = add_stack(p, KYMO_NONE, frame);
    for (int i = 0; i < count; i++)
        ok(kymo_profile_add_sample(p, thread[which], clock_ns++, stack, weight_ns, KYMO_SAMPLE_CPU,
                                   0));
}

static const kymo_report_diff_row *compare_so(size_t expected, uint32_t by, kymo_diff_normalize how)
{
    size_t n;
    const kymo_report_options options = {.size = sizeof options, .by = by};
    for (int i = 0; i < 2; i++)
        ok(kymo_profile_finish(profiles[i]));
    ok(kymo_time_diff_create(profiles[0], profiles[1], &options, KYMO_SAMPLE_DEFAULT, how, &diff));
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &n);
    assert_int_equal(n, expected);
    return rows;
}

static const kymo_report_diff_row *compare(size_t expected)
{
    return compare_so(expected, KYMO_BY_FUNCTION, KYMO_DIFF_AUTO);
}

static int teardown(void **state)
{
    (void)state;
    kymo_report_diff_destroy(diff);
    kymo_profile_destroy(profiles[0]);
    kymo_profile_destroy(profiles[1]);
    return 0;
}

static void whole_runs_are_compared_as_they_are(void **state)
{
    (void)state;
    start(0, 1000000000, 1);
    add_samples(0, "same", 100, 1000000);
    add_samples(0, "less", 100, 1000000);
    add_samples(0, "gone", 4, 1000000);
    start(1, 500000000, 1);
    add_samples(1, "same", 110, 1000000);
    add_samples(1, "less", 20, 1000000);
    add_samples(1, "new", 50, 1000000);
    const kymo_report_diff_row *rows = compare(4);
    assert_int_equal(kymo_report_diff_normalized(diff), KYMO_DIFF_AS_IS);
    assert_string_equal(rows[0].name, "less");
    assert_true(rows[0].before == 100e6 && rows[0].after == 20e6 && rows[0].change == -80e6);
    assert_true(rows[0].is_significant && rows[0].high < 0);
    assert_string_equal(rows[1].name, "new");
    assert_true(rows[1].is_significant && rows[1].low > 0);
    /* 10 of 100 samples more, and 4 that were and are not, may be chance. */
    assert_string_equal(rows[2].name, "same");
    assert_false(rows[2].is_significant);
    assert_true(rows[2].low < 0 && rows[2].high > 0);
    assert_string_equal(rows[3].name, "gone");
    assert_false(rows[3].is_significant);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    assert_true(all->before == 204e6 && all->after == 180e6);
}

/* A minute of a server and ten seconds of it do the same. */
static void others_by_the_time_that_they_were_recorded(void **state)
{
    (void)state;
    start(0, 60000000000, 0);
    add_samples(0, "serve", 600, 10000000);
    start(1, 10000000000, 1);
    add_samples(1, "serve", 100, 10000000);
    const kymo_report_diff_row *rows = compare(1);
    assert_int_equal(kymo_report_diff_normalized(diff), KYMO_DIFF_BY_TIME);
    assert_true(rows[0].before > 99e6 && rows[0].before < 101e6);
    assert_true(rows[0].change > -1 && rows[0].change < 1);
    assert_false(rows[0].is_significant);
}

/* Twice the work in all, and a larger share of one function. */
static void of_equal_totals_shares_are_compared(void **state)
{
    (void)state;
    start(0, 1000000000, 1);
    add_samples(0, "same", 500, 1000000);
    add_samples(0, "more", 500, 1000000);
    start(1, 2000000000, 1);
    add_samples(1, "same", 500, 1000000);
    add_samples(1, "more", 1500, 1000000);
    const kymo_report_diff_row *rows = compare_so(2, KYMO_BY_FUNCTION, KYMO_DIFF_BY_TOTAL);
    assert_string_equal(rows[0].name, "more");
    assert_true(rows[0].before == 500e6 && rows[0].after == 750e6);
    assert_true(rows[0].is_significant);
    assert_true(rows[1].after == 250e6);
    /* The 2000 samples after have half the weight: sqrt(500 + 1500 / 4) ms. */
    assert_true(rows[0].high - rows[0].change > 57.9e6 && rows[0].high - rows[0].change < 58.1e6);
    assert_true(kymo_report_diff_all(diff)->change == 0);
    assert_int_equal(kymo_report_diff_normalized(diff), KYMO_DIFF_BY_TOTAL);
}

static void without_a_duration_nothing_is_divided(void **state)
{
    (void)state;
    const kymo_report_options options = {.size = sizeof options};
    start(0, 0, 0);
    start(1, 1000, 0);
    for (int i = 0; i < 2; i++)
        ok(kymo_profile_finish(profiles[i]));
    assert_int_equal(kymo_time_diff_create(profiles[0], profiles[1], &options, KYMO_SAMPLE_DEFAULT,
                                           KYMO_DIFF_BY_TIME, &diff),
                     KYMO_E_INVALID);
    assert_int_equal(
        kymo_time_diff_create(profiles[0], profiles[1], &options, KYMO_SAMPLE_DEFAULT, 99, &diff),
        KYMO_E_INVALID);
    diff = NULL;
}

static void set_type(int which, const char *name, const char *unit, uint32_t adds)
{
    const kymo_sample_type type = {.size = sizeof type, .name = name, .unit = unit, .adds = adds};
    ok(kymo_profile_set_sample_types(profiles[which], &type, 1, NULL));
}

static void types_of_other_names_and_units(void **state)
{
    (void)state;
    const kymo_report_options options = {.size = sizeof options};
    start(0, 1000, 1);
    start(1, 1000, 1);
    set_type(1, "time", "nanoseconds", KYMO_ADDS_ELAPSED);
    add_samples(0, "f", 1, 10);
    add_samples(1, "f", 1, 30);
    for (int i = 0; i < 2; i++)
        ok(kymo_profile_finish(profiles[i]));
    assert_int_equal(kymo_time_diff_create(profiles[0], profiles[1], &options, KYMO_SAMPLE_DEFAULT,
                                           KYMO_DIFF_AS_IS, &diff),
                     KYMO_E_INVALID);
    ok(kymo_time_diff_create(profiles[0], profiles[1], &options, 0, KYMO_DIFF_AS_IS, &diff));
    assert_true(kymo_report_diff_all(diff)->change == 20);
}

static void units_that_differ_are_for_shares(void **state)
{
    (void)state;
    const kymo_report_options options = {.size = sizeof options};
    start(0, 1000, 1);
    start(1, 1000, 1);
    set_type(1, "samples", "count", KYMO_ADDS_AMOUNT);
    add_samples(0, "f", 1, 10);
    add_samples(1, "f", 1, 3);
    for (int i = 0; i < 2; i++)
        ok(kymo_profile_finish(profiles[i]));
    assert_int_equal(
        kymo_time_diff_create(profiles[0], profiles[1], &options, 0, KYMO_DIFF_AS_IS, &diff),
        KYMO_E_INVALID);
    ok(kymo_time_diff_create(profiles[0], profiles[1], &options, 0, KYMO_DIFF_BY_TOTAL, &diff));
    assert_string_equal(kymo_report_diff_type(diff)->unit, "nanoseconds");
    assert_true(kymo_report_diff_all(diff)->after == 10);
}

/* As of collapsed stacks: they know no module. */
static void what_one_does_not_know_tells_no_rows_apart(void **state)
{
    (void)state;
    uint32_t frame;
    start(0, 1000, 1);
    start(1, 1000, 1);
    add_samples(0, "f", 1, 10);
    ok(kymo_profile_add_label_frame(profiles[1], add_function(profiles[1], "f", KYMO_NONE),
                                    KYMO_CATEGORY_PROGRAM, &frame));
    ok(kymo_profile_add_sample(profiles[1], thread[1], 2000,
                               add_stack(profiles[1], KYMO_NONE, frame), 30, KYMO_SAMPLE_CPU, 0));
    const kymo_report_diff_row *row = compare(1);
    assert_true(row->before == 10 && row->after == 30);
    assert_string_equal(row->module, "app");
}

static uint32_t stack_of(int which, uint32_t parent, const char *name)
{
    kymo_profile *p = profiles[which];
    uint32_t frame = add_frame(p, module[which], clock_ns++);
    kymo_line line = {.function = add_function(p, name, module[which])};
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, KYMO_NONE, 1));
    return add_stack(p, parent, frame);
}

/* The same function by two callers; frames and ids are others in the second profile. */
static void by_stack_callers_count(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        start(i, 1000000000, 1);
        (void)stack_of(i, KYMO_NONE, i ? "late" : "early");
        uint32_t main = stack_of(i, KYMO_NONE, "main");
        uint32_t left = stack_of(i, stack_of(i, main, "left"), "work");
        uint32_t right = stack_of(i, stack_of(i, main, "right"), "work");
        for (int k = 0; k < 400; k++) {
            uint32_t stack = k < (i ? 300 : 200) ? left : right;
            ok(kymo_profile_add_sample(profiles[i], thread[i], clock_ns++, stack, 1000000,
                                       KYMO_SAMPLE_CPU, 0));
        }
    }
    const kymo_report_diff_row *rows = compare_so(2, KYMO_BY_STACK, KYMO_DIFF_AUTO);
    int left = strstr(rows[0].name, "left") ? 0 : 1;
    assert_string_equal(rows[left].name, "main;left;work");
    assert_true(rows[left].before == 200e6 && rows[left].after == 300e6);
    assert_string_equal(rows[!left].name, "main;right;work");
    assert_true(rows[!left].before == 200e6 && rows[!left].after == 100e6);
}

static void nothing_was_sampled(void **state)
{
    (void)state;
    start(0, 1000000, 1);
    start(1, 1000000, 1);
    compare(0);
    assert_true(kymo_report_diff_all(diff)->change == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(whole_runs_are_compared_as_they_are, teardown),
        cmocka_unit_test_teardown(others_by_the_time_that_they_were_recorded, teardown),
        cmocka_unit_test_teardown(of_equal_totals_shares_are_compared, teardown),
        cmocka_unit_test_teardown(without_a_duration_nothing_is_divided, teardown),
        cmocka_unit_test_teardown(types_of_other_names_and_units, teardown),
        cmocka_unit_test_teardown(units_that_differ_are_for_shares, teardown),
        cmocka_unit_test_teardown(what_one_does_not_know_tells_no_rows_apart, teardown),
        cmocka_unit_test_teardown(by_stack_callers_count, teardown),
        cmocka_unit_test_teardown(nothing_was_sampled, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
