/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks come and go in order, each end after its beginning, and what lives between is what lives;
 * a resized block is one allocation. */
#include "unit.h"

#include <stdlib.h>

#include "profile/heap_walk.h"

#define ok(expr) assert_int_equal((expr), KYMO_OK)

static kymo_allocation row(uint64_t time_ns, uint64_t end_ns, uint64_t bytes, double weight)
{
    return (kymo_allocation){.time_ns = time_ns,
                             .end_ns = end_ns,
                             .birth_ns = time_ns,
                             .bytes = bytes,
                             .weight = weight,
                             .previous = KYMO_NONE};
}

static void test_order(void **state)
{
    /* A resize at 20, a block of no time at 20, one that ends before it begins, one that lives. */
    kymo_allocation rows[] = {row(10, 20, 8, 1), row(15, KYMO_LIVES, 8, 1), row(20, 30, 16, 1),
                              row(20, 20, 4, 1), row(25, 12, 4, 1)};
    const struct {
        uint64_t time;
        uint32_t row;
        int is_end;
    } expected[] = {{10, 0, 0}, {15, 1, 0}, {20, 0, 1}, {20, 2, 0}, {20, 3, 0},
                    {20, 3, 1}, {25, 4, 0}, {25, 4, 1}, {30, 2, 1}};
    kymo_heap_walk walk;
    kymo_heap_step step;
    (void)state;
    ok(kymo_heap_walk_init(&walk, rows, 5));
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            assert_int_equal(kymo_heap_walk_next(&walk, &step), 1);
            assert_int_equal(step.time_ns, expected[i].time);
            assert_int_equal(step.row, expected[i].row);
            assert_int_equal(step.is_end, expected[i].is_end);
        }
        assert_int_equal(kymo_heap_walk_next(&walk, &step), 0);
        kymo_heap_walk_rewind(&walk);
    }
    kymo_heap_walk_deinit(&walk);
}

static void test_nothing(void **state)
{
    kymo_heap_walk walk;
    kymo_heap_step step;
    (void)state;
    ok(kymo_heap_walk_init(&walk, NULL, 0));
    assert_int_equal(kymo_heap_walk_next(&walk, &step), 0);
    kymo_heap_walk_deinit(&walk);
}

enum { ROWS = 300, TIMES = 200 };

/* Few times for many rows, so that most share theirs. */
static void test_sums(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (int turn = 0; turn < 50; turn++) {
        kymo_allocation rows[ROWS];
        for (size_t i = 0; i < ROWS; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t start = i * TIMES / ROWS;
            uint64_t end = start + (random >> 40) % 50;
            rows[i] = row(start, end >= TIMES ? KYMO_LIVES : end, (random >> 33) % 64,
                          1 + (double)((random >> 50) % 4));
        }
        kymo_heap_walk walk;
        kymo_heap_step step;
        double live = 0;
        ok(kymo_heap_walk_init(&walk, rows, ROWS));
        for (uint64_t t = 0, more = (uint64_t)kymo_heap_walk_next(&walk, &step); t < TIMES; t++) {
            double sum = 0;
            for (; more && step.time_ns == t; more = (uint64_t)kymo_heap_walk_next(&walk, &step)) {
                double bytes = rows[step.row].weight * (double)rows[step.row].bytes;
                live += step.is_end ? -bytes : bytes;
                assert_true(live >= 0);
            }
            for (size_t i = 0; i < ROWS; i++)
                if (rows[i].time_ns <= t && rows[i].end_ns > t)
                    sum += rows[i].weight * (double)rows[i].bytes;
            assert_true(live == sum);
        }
        kymo_heap_walk_deinit(&walk);
    }
}

/* Draws of blocks that are resized: their sums are what there was, on average. */
static void test_resized(void **state)
{
    kymo_allocation rows[] = {row(1, 2, 100, 8), row(2, 3, 400, 3), row(3, KYMO_LIVES, 50, 3),
                              row(4, KYMO_LIVES, 64, 2), row(5, 6, 32, 2)};
    (void)state;
    rows[1].previous = 0;
    rows[2].previous = 1;
    rows[3].origin = KYMO_ORIGIN_FORKED;
    rows[4].previous = 7; /* broken: there is none */
    double *weights = kymo_heap_last_weights(rows, 5);
    const unsigned objects[] = {1, 0, 0, 0, 1};
    const uint64_t bytes[] = {100, 300, 0, 0, 32};
    const double expected[] = {3, 3, 3, 2, 2};
    for (size_t i = 0; i < 5; i++) {
        uint64_t added;
        assert_int_equal(kymo_allocation_adds(rows, i, &added), objects[i]);
        assert_int_equal(added, bytes[i]);
        assert_true(weights[i] == expected[i]);
    }
    free(weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_resized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
