/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/wall_ticks.h"

#include "unit.h"

#define PERIOD_NS 10000000u

static void around_the_period(void **state)
{
    (void)state;
    struct kymo_wall_ticks t;
    uint64_t now_ns = 1000000000u;
    uint64_t sum_ns = 0;
    kymo_wall_ticks_init(&t, PERIOD_NS, 42);
    assert_true(kymo_wall_ticks_due(&t, now_ns));
    for (int i = 0; i < 1000; i++) {
        uint64_t step_ns = t.next_ns - now_ns;
        assert_true(step_ns >= PERIOD_NS / 2 && step_ns < PERIOD_NS + PERIOD_NS / 2);
        assert_false(kymo_wall_ticks_due(&t, t.next_ns - 1));
        now_ns = t.next_ns;
        assert_true(kymo_wall_ticks_due(&t, now_ns));
        kymo_wall_ticks_moved(&t);
        sum_ns += step_ns;
    }
    assert_true(sum_ns > 950ull * PERIOD_NS && sum_ns < 1050ull * PERIOD_NS);
}

static void half_as_often_when_nobody_runs(void **state)
{
    (void)state;
    struct kymo_wall_ticks t;
    uint64_t now_ns = 1000000000u;
    kymo_wall_ticks_init(&t, PERIOD_NS, 42);
    for (int i = 0; i < 64; i++, now_ns = t.next_ns)
        assert_true(kymo_wall_ticks_due(&t, now_ns));
    for (int i = 0; i < 64; i++, now_ns = t.next_ns) {
        assert_true(kymo_wall_ticks_due(&t, now_ns));
        assert_true(t.next_ns - now_ns >= PERIOD_NS);
    }
    kymo_wall_ticks_moved(&t);
    assert_true(kymo_wall_ticks_due(&t, now_ns));
    assert_true(t.next_ns - now_ns < PERIOD_NS + PERIOD_NS / 2);
}

static void sooner_for_a_new_process(void **state)
{
    (void)state;
    struct kymo_wall_ticks t;
    uint64_t now_ns = 1000000000u;
    kymo_wall_ticks_init(&t, PERIOD_NS, 42);
    assert_true(kymo_wall_ticks_due(&t, now_ns));
    for (int i = 0; i < 1000; i++) {
        uint64_t last_ns = now_ns;
        uint64_t begins_ns = now_ns + (uint64_t)i * PERIOD_NS / 1000;
        uint64_t planned_ns = t.next_ns;
        kymo_wall_ticks_hasten(&t, begins_ns);
        assert_true(t.next_ns <= planned_ns);
        assert_true(t.next_ns <= begins_ns + PERIOD_NS / 2);
        assert_true(t.next_ns >= last_ns + PERIOD_NS / 4);
        now_ns = t.next_ns;
        assert_true(kymo_wall_ticks_due(&t, now_ns));
        kymo_wall_ticks_moved(&t);
    }
}

static void another_period(void **state)
{
    (void)state;
    struct kymo_wall_ticks t;
    uint64_t now_ns = 1000000000u;
    kymo_wall_ticks_init(&t, 1000ull * PERIOD_NS, 42);
    assert_true(kymo_wall_ticks_due(&t, now_ns));
    kymo_wall_ticks_set_period(&t, PERIOD_NS, now_ns);
    assert_true(t.next_ns <= now_ns + PERIOD_NS);
    now_ns = t.next_ns;
    assert_true(kymo_wall_ticks_due(&t, now_ns));
    assert_true(t.next_ns - now_ns < PERIOD_NS + PERIOD_NS / 2);
    const uint64_t planned_ns = t.next_ns;
    kymo_wall_ticks_set_period(&t, 1000ull * PERIOD_NS, now_ns);
    assert_int_equal(t.next_ns, planned_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(around_the_period),
        cmocka_unit_test(half_as_often_when_nobody_runs),
        cmocka_unit_test(sooner_for_a_new_process),
        cmocka_unit_test(another_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
