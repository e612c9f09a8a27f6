/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_span.h - reading unwind information with bounds, inside a handler.
 *
 * Layer:    unwind; above nothing
 * Flow:     .eh_frame, DWARF expressions -> [span] -> cfi.c, expr.c
 * Threads:  one owner at a time
 * Memory:   borrows the bytes
 * Signals:  safe
 *
 * A read beyond the end gives 0 and sets `bad` for good, so that a decoder may read a whole entry
 * and look once.
 */
#ifndef KYMO_UNWIND_BYTE_SPAN_H
#define KYMO_UNWIND_BYTE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_byte_span {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static inline size_t kymo_span_left(const struct kymo_byte_span *s)
{
    return (size_t)(s->end - s->at);
}

static inline const uint8_t *kymo_span_take(struct kymo_byte_span *s, uint64_t n)
{
    const uint8_t *at = s->at;
    if (n > kymo_span_left(s)) {
        s->bad = true;
        s->at = s->end;
        return NULL;
    }
    s->at += n;
    return at;
}

/* Little-endian, 1 to 8 bytes, zero-extended. */
static inline uint64_t kymo_span_uint(struct kymo_byte_span *s, unsigned bytes)
{
    const uint8_t *p = kymo_span_take(s, bytes);
    uint64_t value = 0;
    if (p)
        __builtin_memcpy(&value, p, bytes);
    return value;
}

static inline uint8_t kymo_span_u8(struct kymo_byte_span *s)
{
    if (s->at == s->end) {
        s->bad = true;
        return 0;
    }
    return *s->at++;
}

/* The same, sign-extended. */
static inline int64_t kymo_span_int(struct kymo_byte_span *s, unsigned bytes)
{
    unsigned unused_bits = 64 - 8 * bytes;
    return (int64_t)(kymo_span_uint(s, bytes) << unused_bits) >> unused_bits;
}

/* LEB128; bits beyond 64 are dropped, the number of bytes is bounded by the span. */
static inline uint64_t kymo_span_uleb(struct kymo_byte_span *s)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = kymo_span_u8(s);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static inline int64_t kymo_span_sleb(struct kymo_byte_span *s)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = kymo_span_u8(s);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40))
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

#endif
