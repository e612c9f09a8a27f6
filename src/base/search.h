/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - finds a place in sorted rows, whatever they are.
 *
 * Layer:    base
 * Flow:     profile, symbolize, unwind, observe -> [search]
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

/* How many of `count` rows `test` holds for, an expression of the row's number i. They are sorted
 * so that these come first: with "not above the key" as the test, the result less one is the last
 * such row. */
#define KYMO_COUNT_WHERE(i, count, test)                             \
    ({                                                               \
        size_t kymo_low_ = 0;                                        \
        for (size_t kymo_high_ = (count); kymo_low_ < kymo_high_;) { \
            size_t i = kymo_low_ + (kymo_high_ - kymo_low_) / 2;     \
            if (test)                                                \
                kymo_low_ = i + 1;                                   \
            else                                                     \
                kymo_high_ = i;                                      \
        }                                                            \
        kymo_low_;                                                   \
    })

/* The same with a function for the test, which becomes part of the loop. */
static inline size_t kymo_search_count(const void *rows, size_t count, kymo_search_test *test,
                                       const void *key)
{
    return KYMO_COUNT_WHERE(i, count, test(rows, i, key));
}

/* For qsort of numbers. */
static inline int kymo_compare_u32(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

#endif
