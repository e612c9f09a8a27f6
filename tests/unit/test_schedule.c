/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/schedule.h"
#include "unit.h"

#define SECOND 1000000000ull

static void intervals_end_at_fixed_distances(void **state)
{
    (void)state;
    struct kymo_schedule s;
    kymo_schedule_start(&s, 30 * SECOND, 100 * SECOND);
    assert_int_equal(s.due_ns, 130 * SECOND);
    /* A round comes some milliseconds late each time: that does not add up. */
    for (uint64_t i = 1; i <= 100; i++) {
        kymo_schedule_ended(&s, s.due_ns + 20000000);
        assert_int_equal(s.due_ns, (130 + 30 * i) * SECOND);
    }
}

static void a_late_end_makes_no_short_ones(void **state)
{
    (void)state;
    struct kymo_schedule s;
    /* By less than half an interval: the next one is shorter. */
    kymo_schedule_start(&s, 30 * SECOND, 0);
    kymo_schedule_ended(&s, 44 * SECOND);
    assert_int_equal(s.due_ns, 60 * SECOND);
    /* By more: it is longer. */
    kymo_schedule_start(&s, 30 * SECOND, 0);
    kymo_schedule_ended(&s, 46 * SECOND);
    assert_int_equal(s.due_ns, 90 * SECOND);
    /* The machine slept for an hour: one interval was long, and no other is. */
    kymo_schedule_start(&s, 30 * SECOND, 0);
    kymo_schedule_ended(&s, 3630 * SECOND);
    assert_int_equal(s.due_ns, 3660 * SECOND);
}

static void a_flush_is_followed_by_no_short_one(void **state)
{
    (void)state;
    struct kymo_schedule s;
    kymo_schedule_start(&s, 30 * SECOND, 0);
    kymo_schedule_ended(&s, 10 * SECOND);
    assert_int_equal(s.due_ns, 30 * SECOND);
    kymo_schedule_ended(&s, 29 * SECOND);
    assert_int_equal(s.due_ns, 60 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_end_at_fixed_distances),
        cmocka_unit_test(a_late_end_makes_no_short_ones),
        cmocka_unit_test(a_flush_is_followed_by_no_short_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
