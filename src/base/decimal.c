/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A profile has four numbers for each sample, and printf takes 100 ns for one of them; this takes a
 * few. */
static const char pairs[200] = "00010203040506070809101112131415161718192021222324"
                               "25262728293031323334353637383940414243444546474849"
                               "50515253545556575859606162636465666768697071727374"
                               "75767778798081828384858687888990919293949596979899";

char *kymo_decimal_u64(char *out, uint64_t value)
{
    char text[20];
    char *p = text + sizeof text;
    while (value >= 100) {
        p -= 2;
        memcpy(p, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        p -= 2;
        memcpy(p, pairs + value * 2, 2);
    } else {
        *--p = (char)('0' + value);
    }
    size_t len = (size_t)(text + sizeof text - p);
    memcpy(out, p, len);
    return out + len;
}

char *kymo_decimal_i64(char *out, int64_t value)
{
    if (value >= 0)
        return kymo_decimal_u64(out, (uint64_t)value);
    *out++ = '-';
    return kymo_decimal_u64(out, 0 - (uint64_t)value);
}

char *kymo_decimal_fixed(char *out, uint64_t value, unsigned digits)
{
    uint64_t unit = 1;
    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    out = kymo_decimal_u64(out, value / unit);
    uint64_t rest = value % unit;
    if (rest == 0)
        return out;
    while (rest % 10 == 0) {
        rest /= 10;
        digits--;
    }
    *out = '.';
    for (char *p = out + digits; p > out; p--) {
        *p = (char)('0' + rest % 10);
        rest /= 10;
    }
    return out + digits + 1;
}

char *kymo_decimal_f64(char *out, double value)
{
    char text[64];
    int len = 0;
    for (int digits = 15; digits <= 17; digits++) {
        len = snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* What is no part of a number is the locale's point, whose bytes follow a digit. */
    for (int i = 0; i < len; i++) {
        if (strchr("+-0123456789e", text[i]))
            *out++ = text[i];
        else if (out[-1] != '.')
            *out++ = '.';
    }
    return out;
}
