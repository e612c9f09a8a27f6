/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intervals.c - a sorted array in which each interval refers to the nearest earlier one that is
 * still open at its start. A binary search finds the last interval that starts at or before an
 * address; all that contain the address are on the chain of `enclosing` from there, since others
 * ended before.
 */
#include "symbolize/intervals.h"

#include <stdbool.h>

#include "base/search.h"
#include "base/sort_keys.h"

/* Real inlining is less deep; hostile files could make each look-up walk through all intervals. */
#define MAX_STEPS 1024

static int by_start(const void *a, const void *b)
{
    const kymo_interval *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high > y->high ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

void kymo_intervals_finish(kymo_intervals *intervals)
{
    bool sorted = true;
    for (size_t i = 1; i < intervals->len && sorted; i++)
        sorted = by_start(&intervals->data[i - 1], &intervals->data[i]) <= 0;
    if (!sorted)
        kymo_sort_keys(intervals->data, intervals->len, sizeof *intervals->data, by_start);
    uint32_t open = KYMO_INTERVAL_NONE;
    for (size_t i = 0; i < intervals->len; i++) {
        kymo_interval *now = &intervals->data[i];
        while (open != KYMO_INTERVAL_NONE && intervals->data[open].high <= now->low)
            open = intervals->data[open].enclosing;
        now->enclosing = open;
        open = (uint32_t)i;
    }
}

static uint32_t outwards(const kymo_intervals *intervals, uint32_t at, uint64_t address)
{
    for (int steps = 0; at != KYMO_INTERVAL_NONE && steps < MAX_STEPS; steps++) {
        const kymo_interval *i = &intervals->data[at];
        if (address < i->high)
            return at;
        at = i->enclosing;
    }
    return KYMO_INTERVAL_NONE;
}

uint32_t kymo_intervals_find(const kymo_intervals *intervals, uint64_t address)
{
    size_t n = KYMO_COUNT_WHERE(i, intervals->len, intervals->data[i].low <= address);
    return n ? outwards(intervals, (uint32_t)(n - 1), address) : KYMO_INTERVAL_NONE;
}

uint32_t kymo_intervals_next(const kymo_intervals *intervals, uint32_t at, uint64_t address)
{
    return outwards(intervals, intervals->data[at].enclosing, address);
}
