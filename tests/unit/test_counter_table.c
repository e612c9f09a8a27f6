/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static uint32_t add(kymo_profile *p, const char *name)
{
    uint32_t id = KYMO_NONE;
    kymo_counter c = {
        .size = sizeof c, .category = KYMO_NONE, .name = add_string(p, name), .kind = 2};
    ok(kymo_profile_add_counter(p, &c, &id));
    return id;
}

static void counts_are_by_time(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    uint32_t queue = add(p, "Queue");
    uint32_t other = add(p, "Queue"); /* not interned: another process may have one */
    assert_int_not_equal(queue, other);
    for (uint64_t i = 0; i < 100; i++)
        ok(kymo_profile_add_count(p, queue, 1000 - i / 2, (int64_t)i - 50, i));
    ok(kymo_profile_finish(p));
    kymo_counts c = kymo_profile_counts(p, queue);
    assert_int_equal(c.count, 100);
    for (uint32_t i = 1; i < c.count; i++)
        assert_true(c.time_ns[i - 1] <= c.time_ns[i]);
    /* Of one time, in the order of adding. */
    assert_int_equal(c.time_ns[0], 951);
    assert_int_equal(c.value[0], 48);
    assert_int_equal(c.operations[1], 99);
    assert_int_equal(c.value[98], -50);
    assert_int_equal(kymo_profile_counts(p, other).count, 0);
    assert_int_equal(kymo_profile_counts(p, 2).count, 0);
    assert_string_equal(kymo_profile_string(p, kymo_profile_counter(p, queue)->name), "Queue");
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_COUNTERS), 2);
    kymo_profile_destroy(p);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id = 8;
    kymo_counter c = {.size = sizeof c, .category = KYMO_NONE};
    assert_int_equal(kymo_profile_add_counter(p, &c, &id), KYMO_E_INVALID); /* no process */
    add_process(p, 10, 0);
    c.category = 0;
    assert_int_equal(kymo_profile_add_counter(p, &c, &id), KYMO_E_INVALID);
    c = (kymo_counter){.size = sizeof c, .category = KYMO_NONE, .unit = 9};
    assert_int_equal(kymo_profile_add_counter(p, &c, &id), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_add_count(p, 0, 1, 1, 1), KYMO_E_INVALID);
    assert_null(kymo_profile_counter(p, 0));
    assert_int_equal(id, 8);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_by_time),
        cmocka_unit_test(unknown_ids_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
