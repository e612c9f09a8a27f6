/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f64.h - numbers that are either integers or doubles, as one word: values of counters.
 *
 * Layer:    base
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_BASE_F64_H
#define KYMO_BASE_F64_H

#include <stdint.h>
#include <string.h>

static inline double kymo_f64_of(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int64_t kymo_f64_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* a + b and a - b of two words of one kind. Integers may wrap. */
static inline int64_t kymo_word_add(int64_t a, int64_t b, int is_f64)
{
    return is_f64 ? kymo_f64_bits(kymo_f64_of(a) + kymo_f64_of(b))
                  : (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t kymo_word_subtract(int64_t a, int64_t b, int is_f64)
{
    return is_f64 ? kymo_f64_bits(kymo_f64_of(a) - kymo_f64_of(b))
                  : (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int kymo_word_is_less(int64_t a, int64_t b, int is_f64)
{
    return is_f64 ? kymo_f64_of(a) < kymo_f64_of(b) : a < b;
}

#endif
