/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/time_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "unit.h"

#define MOST 5000u

static int by_time(const void *a, const void *b)
{
    const struct kymo_time_order *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Runs of this length that go up (or down), each of which begins at one of `starts` times. */
static void is_as_qsort_has_it(size_t n, size_t run, uint64_t starts, int goes_down)
{
    static struct kymo_time_order given[MOST], theirs[MOST];
    struct kymo_time_order *ours;
    uint64_t state = n * 31 + run, time_ns = 0;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        time_ns = i % run == 0 ? (state >> 20) % starts : time_ns + (state >> 60) % 3;
        given[i] = (struct kymo_time_order){goes_down ? UINT64_MAX - time_ns : time_ns, i};
    }
    memcpy(theirs, given, sizeof theirs);
    qsort(theirs, n, sizeof *theirs, by_time);
    assert_int_equal(kymo_time_order_make(&given[0].time_ns, sizeof *given, n, &ours), KYMO_OK);
    assert_memory_equal(ours, theirs, n * sizeof *ours);
    free(ours);
}

static void orders_as_qsort_does(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 4, 7, 64, 999, MOST};
    static const size_t runs[] = {1, 2, 3, 40, 2500, MOST};
    static const uint64_t starts[] = {1, 2, 100, UINT32_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(counts); i++)
        for (size_t k = 0; k < KYMO_ARRAY_LEN(runs); k++)
            for (size_t m = 0; m < KYMO_ARRAY_LEN(starts); m++)
                for (int goes_down = 0; goes_down < 2; goes_down++)
                    is_as_qsort_has_it(counts[i], runs[k], starts[m], goes_down);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_as_qsort_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
