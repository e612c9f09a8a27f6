/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort_keys.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "unit.h"

#define MOST 20000u

typedef struct element {
    uint64_t key;
    uint32_t second;
    uint32_t number; /* makes every order of elements a different one */
    char rest[8];
} element;

static int by_all(const void *a, const void *b)
{
    const element *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->second != y->second)
        return x->second > y->second ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void is_the_same_as_qsort(uint64_t mask, uint64_t base, uint32_t seconds, size_t n)
{
    static element ours[MOST], theirs[MOST];
    uint64_t state = n + mask;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ours[i] = (element){.key = base + ((state >> 20 | state << 44) & mask),
                            .second = (uint32_t)(state >> 60) % seconds,
                            .number = (uint32_t)i};
        memset(ours[i].rest, (int)i, sizeof ours[i].rest);
    }
    memcpy(theirs, ours, sizeof theirs);
    qsort(theirs, n, sizeof *theirs, by_all);
    kymo_sort_keys(ours, n, sizeof *ours, by_all);
    assert_memory_equal(ours, theirs, n * sizeof *ours);
}

static void sorts_as_qsort_does(void **state)
{
    (void)state;
    static const uint64_t masks[] = {0, 1, 0xff, 0x7ff, 0x800, 0xfffff, UINT32_MAX, UINT64_MAX};
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 1000, MOST};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(masks); i++) {
        for (size_t k = 0; k < KYMO_ARRAY_LEN(counts); k++) {
            is_the_same_as_qsort(masks[i], 0, 1, counts[k]);
            is_the_same_as_qsort(masks[i], UINT64_MAX - masks[i], 3, counts[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorts_as_qsort_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
