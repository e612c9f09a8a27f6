/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal.h - numbers to decimal text, exactly, and whatever the locale is.
 *
 * Layer:    base; above base
 * Threads:  any
 * Memory:   the caller's; a text is at most KYMO_DECIMAL_MAX bytes and has no NUL
 * Signals:  safe
 */
#ifndef KYMO_BASE_DECIMAL_H
#define KYMO_BASE_DECIMAL_H

#include <stdint.h>

#define KYMO_DECIMAL_MAX 24

/* Each writes at out and returns where the text ends. */
char *kymo_decimal_u64(char *out, uint64_t value);
char *kymo_decimal_i64(char *out, int64_t value);
/* value / 10^digits (digits 0 to 18) without trailing zeros: (1500000, 6) is "1.5", (2000000, 6) is
 * "2". */
char *kymo_decimal_fixed(char *out, uint64_t value, unsigned digits);
/* The shortest text that is read back as this number, which must be finite. */
char *kymo_decimal_f64(char *out, double value);
/* Nanoseconds as milliseconds; every nanosecond is kept. */
static inline char *kymo_decimal_ms(char *out, uint64_t ns)
{
    return kymo_decimal_fixed(out, ns, 6);
}

#endif
