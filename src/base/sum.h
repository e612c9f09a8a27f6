/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum.h - sums of what a file says: they do not wrap around.
 *
 * Layer:    base
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_BASE_SUM_H
#define KYMO_BASE_SUM_H

#include <stdint.h>

static inline uint64_t kymo_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
