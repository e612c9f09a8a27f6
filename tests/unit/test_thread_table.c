/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void names_and_times(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 10, 0);
    uint32_t id = add_thread(p, process, 11, 100);
    assert_string_equal(kymo_profile_thread(p, id)->name, "thread 11");
    kymo_thread row = *kymo_profile_thread(p, id);
    row.name = "worker\xff";
    row.end_ns = 50;
    ok(kymo_profile_update_thread(p, id, &row));
    assert_string_equal(kymo_profile_thread(p, id)->name, "worker\xef\xbf\xbd");
    assert_int_equal(kymo_profile_thread(p, id)->end_ns, 100);
    row.tid = 12;
    assert_int_equal(kymo_profile_update_thread(p, id, &row), KYMO_E_INVALID);
    row.process = 1;
    assert_int_equal(kymo_profile_add_thread(p, &row, &id), KYMO_E_INVALID);
    assert_null(kymo_profile_thread(p, 1));
    kymo_profile_destroy(p);
}

static unsigned main_threads(const kymo_profile *p, uint32_t process)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < kymo_profile_count(p, KYMO_TABLE_THREADS); i++)
        n += kymo_profile_thread(p, i)->process == process && kymo_profile_thread(p, i)->is_main;
    return n;
}

static void exactly_one_main_thread(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t by_tid = add_process(p, 10, 0);
    uint32_t earliest = add_process(p, 20, 0);
    uint32_t marked = add_process(p, 30, 0);
    uint32_t without = add_process(p, 40, 7);
    add_thread(p, by_tid, 9, 1);
    uint32_t leader = add_thread(p, by_tid, 10, 5);
    add_thread(p, earliest, 22, 9);
    uint32_t first = add_thread(p, earliest, 21, 3);
    kymo_thread row = {.size = sizeof row, .process = marked, .tid = 31, .is_main = 1};
    uint32_t mark;
    uint32_t second;
    ok(kymo_profile_add_thread(p, &row, &mark));
    row.tid = 32;
    ok(kymo_profile_add_thread(p, &row, &second)); /* two are marked; neither leads: the first */
    ok(kymo_profile_finish(p));
    assert_int_equal(kymo_profile_thread(p, leader)->is_main, 1);
    assert_int_equal(kymo_profile_thread(p, first)->is_main, 1);
    assert_int_equal(kymo_profile_thread(p, mark)->is_main, 1);
    assert_int_equal(kymo_profile_thread(p, second)->is_main, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(main_threads(p, i), 1);
    const kymo_thread *made = kymo_profile_thread(p, kymo_profile_count(p, KYMO_TABLE_THREADS) - 1);
    assert_int_equal(made->process, without);
    assert_int_equal(made->tid, 40);
    assert_int_equal(made->start_ns, 7);
    kymo_profile_destroy(p);
}

static void order_is_by_process_and_start(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t late = add_process(p, 50, 900);
    uint32_t early = add_process(p, 60, 100);
    uint32_t main_process;
    ok(kymo_profile_add_process(
        p, &(kymo_process){.size = sizeof(kymo_process), .pid = 70, .start_ns = 950, .is_main = 1},
        &main_process));
    uint32_t expected[6];
    expected[5] = add_thread(p, late, 50, 900);
    expected[2] = add_thread(p, early, 60, 300); /* the leader, though it registered last */
    expected[4] = add_thread(p, early, 62, 250);
    expected[3] = add_thread(p, early, 61, 200);
    expected[1] = add_thread(p, main_process, 71, 960);
    expected[0] = add_thread(p, main_process, 70, 950);
    assert_null(kymo_profile_thread_order(p));
    ok(kymo_profile_finish(p));
    assert_memory_equal(kymo_profile_thread_order(p), expected, sizeof expected);
    add_thread(p, late, 51, 10);
    assert_null(kymo_profile_thread_order(p)); /* needs another finish */
    ok(kymo_profile_finish(p));
    assert_int_equal(kymo_profile_thread_order(p)[6], 6);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_times),
        cmocka_unit_test(exactly_one_main_thread),
        cmocka_unit_test(order_is_by_process_and_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
