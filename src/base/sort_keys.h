/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort_keys.h - sorts large arrays by a number, several times as fast as qsort.
 *
 * Layer:    base (cold half only)
 * Threads:  any
 * Memory:   temporary; without it, qsort sorts
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_SORT_KEYS_H
#define KYMO_BASE_SORT_KEYS_H

#include <stddef.h>

/* The same as qsort with this function. Each element begins with a uint64_t, by which the function
 * orders first of all. */
void kymo_sort_keys(void *data, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
