/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - finds a place in sorted rows, whatever they are.
 *
 * Layer:    base
 * Flow:     profile/code_map.c, code_apply.c, observe/remote.c, jit_code.c -> [search]
 * Threads:  any; it only reads
 * Memory:   none
 * Signals:  as safe as the test
 */
#ifndef KYMO_BASE_SEARCH_H
#define KYMO_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Whether row number i is one of those that are counted for this key. */
typedef int kymo_search_test(const void *rows, size_t i, const void *key);

/* How many of `count` rows the test holds for. They are sorted so that these come first: with "not
 * above the key" as the test, the result less one is the last such row. In a header, so that the
 * test becomes part of the loop. */
static inline size_t kymo_search_count(const void *rows, size_t count, kymo_search_test *test,
                                       const void *key)
{
    size_t lo = 0;
    for (size_t hi = count; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;
        if (test(rows, mid, key))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* For qsort of numbers. */
static inline int kymo_compare_u32(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

#endif
