/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum.h - sums and differences of what a file says: they do not wrap around.
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

static inline uint64_t kymo_less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

#endif
