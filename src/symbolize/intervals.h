/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intervals.h - nested address ranges; finds those that contain an address, innermost first.
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     dwarf_units, dwarf_functions -> [intervals] -> look-ups
 * Threads:  one owner at a time
 * Memory:   the caller owns the vector
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_INTERVALS_H
#define KYMO_SYMBOLIZE_INTERVALS_H

#include <stdint.h>

#include "base/vec.h"

#define KYMO_INTERVAL_NONE UINT32_MAX

typedef struct kymo_interval {
    uint64_t low;
    uint64_t high; /* one beyond */
    uint32_t value;
    uint32_t enclosing; /* set by finish: the nearest earlier one that reaches beyond low */
} kymo_interval;

typedef KYMO_VEC(kymo_interval) kymo_intervals;

/* Sorts; of equal ranges the one with the greater value is the inner one. Call before find, and
 * again after adding. */
void kymo_intervals_finish(kymo_intervals *intervals);
/* The innermost that contains the address, or KYMO_INTERVAL_NONE. */
uint32_t kymo_intervals_find(const kymo_intervals *intervals, uint64_t address);
/* The next one outwards from `at` that contains the address, or KYMO_INTERVAL_NONE. */
uint32_t kymo_intervals_next(const kymo_intervals *intervals, uint32_t at, uint64_t address);

#endif
