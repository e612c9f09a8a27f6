/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/drain_state.h"

#include <time.h>

#include "unit.h"

#define MS 1000000ull

/* A round whose anchor is this one; `take` reads the clocks themselves. */
static void round_at(struct kymo_drain_clock *c, uint64_t clock, uint64_t ns)
{
    c->now = (struct kymo_drain_anchor){clock, ns};
    if (clock > c->last.clock && ns > c->last.ns)
        c->ns_per_tick = (double)(ns - c->last.ns) / (double)(clock - c->last.clock);
    kymo_drain_clock_keep(c);
}

static struct kymo_drain_clock begin(void)
{
    return (struct kymo_drain_clock){.kind = KYMO_CLOCK_TSC,
                                     .ns_per_tick = 1,
                                     .first_ns = 1000 * MS,
                                     .now = {5000 * MS, 1000 * MS},
                                     .last = {5000 * MS, 1000 * MS}};
}

/* One tick is 2 ns at first, and 1 ns later. */
static void a_time_is_that_of_its_own_stretch(void **state)
{
    (void)state;
    struct kymo_drain_clock c = begin();
    for (uint64_t i = 1; i <= 10; i++)
        round_at(&c, 5000 * MS + i * 10 * MS, 1000 * MS + i * 20 * MS);
    for (uint64_t i = 1; i <= 10; i++)
        round_at(&c, 5100 * MS + i * 10 * MS, 1200 * MS + i * 10 * MS);
    assert_int_equal(kymo_drain_clock_ns(&c, 5195 * MS), 1295 * MS);
    assert_int_equal(kymo_drain_clock_ns(&c, 5100 * MS), 1200 * MS);
    assert_int_equal(kymo_drain_clock_ns(&c, 5099 * MS), 1198 * MS);
    assert_int_equal(kymo_drain_clock_ns(&c, 5001 * MS), 1002 * MS);
    /* Before the session there was nothing, but what the program may speak of. */
    assert_int_equal(kymo_drain_clock_ns(&c, 4000 * MS), 1000 * MS);
    assert_int_equal(kymo_drain_clock_any_ns(&c, 4999 * MS), 999 * MS);
    assert_int_equal(kymo_drain_clock_any_ns(&c, 5201 * MS), 1301 * MS);
    kymo_drain_clock_deinit(&c);
}

static void nothing_has_happened_in_the_future(void **state)
{
    (void)state;
    struct kymo_drain_clock c;
    kymo_drain_clock_init(&c, KYMO_CLOCK_MONOTONIC);
    uint64_t before_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(kymo_drain_clock_ns(&c, before_ns), before_ns);
    uint64_t future_ns = kymo_drain_clock_ns(&c, before_ns + 3600000 * MS);
    assert_true(future_ns >= before_ns && future_ns <= kymo_clock_ns(CLOCK_MONOTONIC));
    assert_int_equal(kymo_drain_clock_any_ns(&c, before_ns + MS), before_ns + MS);
    kymo_drain_clock_deinit(&c);
}

/* Whatever a program writes: a number, and none that wraps around. */
static void wild_clocks_are_times(void **state)
{
    (void)state;
    struct kymo_drain_clock c = begin();
    const uint64_t wild[] = {0,
                             1,
                             UINT64_MAX,
                             INT64_MAX,
                             (uint64_t)INT64_MAX + 1,
                             (5000 * MS + (uint64_t)INT64_MAX),
                             5000 * MS - (uint64_t)INT64_MAX};
    for (uint64_t i = 1; i <= 3; i++) {
        for (size_t k = 0; k < KYMO_ARRAY_LEN(wild); k++) {
            uint64_t ns = kymo_drain_clock_ns(&c, wild[k]);
            assert_true(ns >= c.first_ns);
            assert_true(kymo_drain_clock_any_ns(&c, wild[k]) <= INT64_MAX);
        }
        round_at(&c, 5000 * MS + i * 10 * MS, 1000 * MS + i * 30 * MS);
    }
    kymo_drain_clock_deinit(&c);
}

static void hours_of_anchors_are_bounded_and_exact(void **state)
{
    (void)state;
    struct kymo_drain_clock c = begin();
    const uint64_t rounds = 20 * KYMO_DRAIN_ANCHORS;
    for (uint64_t i = 1; i <= rounds; i++)
        /* Each anchor is off by up to 300 ns. */
        round_at(&c, 5000 * MS + i * 20 * MS, 1000 * MS + i * 10 * MS + i % 7 * 50);
    assert_true(c.anchors.len <= KYMO_DRAIN_ANCHORS);
    for (uint64_t i = 0; i <= rounds; i += 97) {
        uint64_t right_ns = 1000 * MS + i * 10 * MS;
        uint64_t ns = kymo_drain_clock_ns(&c, 5000 * MS + i * 20 * MS);
        assert_true(ns + 400 >= right_ns && ns <= right_ns + 400);
    }
    kymo_drain_clock_deinit(&c);
}

/* After a suspend the counter may begin at 0 again. */
static void a_counter_that_begins_anew_has_no_past(void **state)
{
    (void)state;
    struct kymo_drain_clock c = begin();
    for (uint64_t i = 1; i <= 10; i++)
        round_at(&c, 5000 * MS + i * 10 * MS, 1000 * MS + i * 20 * MS);
    round_at(&c, 10 * MS, 9000 * MS);
    assert_int_equal(c.anchors.len, 0);
    round_at(&c, 20 * MS, 9020 * MS);
    assert_int_equal(kymo_drain_clock_ns(&c, 15 * MS), 9010 * MS);
    kymo_drain_clock_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_that_of_its_own_stretch),
        cmocka_unit_test(nothing_has_happened_in_the_future),
        cmocka_unit_test(wild_clocks_are_times),
        cmocka_unit_test(hours_of_anchors_are_bounded_and_exact),
        cmocka_unit_test(a_counter_that_begins_anew_has_no_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
