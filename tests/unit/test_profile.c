/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void an_empty_profile(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    ok(kymo_profile_finish(p));
    for (int t = 0; t < KYMO_TABLE_COUNT; t++)
        assert_int_equal(kymo_profile_count(p, (kymo_table)t), t == KYMO_TABLE_STRINGS);
    assert_int_equal(kymo_profile_sample_count(p), 0);
    kymo_profile_destroy(p);
    kymo_profile_destroy(NULL);
}

static void counts_follow_what_is_added(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    add_thread(p, process, 1, 0);
    uint32_t module = add_module(p, process, "/x", "id");
    add_stack(p, KYMO_NONE, add_frame(p, module, 1));
    add_function(p, "f", module);
    add_source(p, "f.c");
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_PROCESSES), 1);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_THREADS), 1);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_MODULES), 1);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_FRAMES), 1);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_STACKS), 1);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_FUNCTIONS), 1);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_SOURCES), 1);
    kymo_profile_destroy(p);
}

static void names_may_come_after_finish(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    uint32_t thread = add_thread(p, process, 1, 0);
    uint32_t frame = add_frame(p, KYMO_NONE, 1);
    ok(kymo_profile_finish(p));
    kymo_line line = {add_function(p, "f", KYMO_NONE), 0, 0};
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, KYMO_NONE, 1));
    assert_non_null(kymo_profile_thread_order(p));
    ok(kymo_profile_add_sample(p, thread, 1, KYMO_NONE, 1, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING));
    assert_null(kymo_profile_thread_order(p));
    kymo_profile_destroy(p);
}

static void memory_is_counted(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    size_t empty = kymo_profile_used_bytes(p);
    uint32_t thread = add_thread(p, add_process(p, 1, 0), 1, 0);
    uint32_t stack = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 1));
    size_t few = kymo_profile_used_bytes(p);
    for (int i = 0; i < 10000; i++)
        ok(kymo_profile_add_sample(p, thread, 1, stack, 1, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING));
    size_t many = kymo_profile_used_bytes(p);
    assert_true(few > empty);
    assert_in_range(many - few, 10000 * 22, 10000 * 22 * 2);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_profile),
        cmocka_unit_test(counts_follow_what_is_added),
        cmocka_unit_test(names_may_come_after_finish),
        cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
