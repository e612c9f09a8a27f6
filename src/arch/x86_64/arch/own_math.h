/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_math.h - arithmetic in the program's threads that it does not notice: neither the flags of
 * its floating-point exceptions change (fetestexcept), nor is one raised that it has unmasked
 * (feenableexcept), nor does its rounding mode count.
 *
 * Layer:    arch
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_ARCH_OWN_MATH_H
#define KYMO_ARCH_OWN_MATH_H

#include <stdint.h>
#include <string.h>

/* The sum of two doubles, all by their bits, to nearest. Instructions that the compiler cannot move
 * apart: it does not know what the control word is for. */
static inline int64_t kymo_add_doubles(int64_t a, int64_t b)
{
    const uint32_t as_at_start = 0x1f80; /* all masked, no flags, to nearest */
    uint32_t program;
    double sum, other;
    memcpy(&sum, &a, sizeof sum);
    memcpy(&other, &b, sizeof other);
    __asm__ volatile("stmxcsr %0" : "=m"(program));
    __asm__ volatile("ldmxcsr %0" : : "m"(as_at_start));
    __asm__ volatile("addsd %1, %0" : "+x"(sum) : "x"(other));
    __asm__ volatile("ldmxcsr %0" : : "m"(program));
    memcpy(&a, &sum, sizeof a);
    return a;
}

/* a * b / c, exact; UINT64_MAX where that is more, 0 where c is. */
static inline uint64_t kymo_multiply_divide(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t low, high, rest;
    if (c == 0)
        return 0;
    __asm__("mulq %3" : "=a"(low), "=d"(high) : "a"(a), "r"(b) : "cc");
    /* The instruction would fault. */
    if (high >= c)
        return UINT64_MAX;
    __asm__("divq %4" : "=a"(low), "=d"(rest) : "a"(low), "d"(high), "r"(c) : "cc");
    return low;
}

#endif
