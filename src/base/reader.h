/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - reads numbers and texts from bytes, with bounds. Recordings, DWARF, jitdump and the
 * unwinder use it.
 *
 * Layer:    base (both halves); inlined: a DWARF unit has millions of attributes
 * Flow:     bytes -> [reader] -> decoders
 * Threads:  one owner at a time
 * Memory:   borrows the bytes
 * Signals:  safe, except kymo_read_text
 *
 * A read beyond the end gives zero, sets `failed` for good and moves the reader to the end. So
 * loops end, and a decoder may read a whole structure and look once. Numbers are little-endian, as
 * all machines that Kymo runs on.
 */
#ifndef KYMO_BASE_READER_H
#define KYMO_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

typedef struct kymo_reader {
    const unsigned char *at;
    const unsigned char *end;
    bool failed;
} kymo_reader;

KYMO_SIGNAL_SAFE static inline kymo_reader kymo_reader_of(const void *data, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)data;
    return (kymo_reader){.at = bytes, .end = len ? bytes + len : bytes};
}

/* Of data[begin, end), as far as that is within size bytes; failed if begin is not. */
KYMO_SIGNAL_SAFE static inline kymo_reader kymo_reader_part(const void *data, uint64_t size,
                                                            uint64_t begin, uint64_t end)
{
    const unsigned char *bytes = (const unsigned char *)data;
    if (end > size)
        end = size;
    if (!bytes || begin > end)
        return (kymo_reader){bytes, bytes, true};
    return (kymo_reader){bytes + begin, bytes + end, false};
}

KYMO_SIGNAL_SAFE static inline size_t kymo_reader_left(const kymo_reader *r)
{
    return (size_t)(r->end - r->at);
}

/* What was read makes no sense: nothing more can be read. */
KYMO_SIGNAL_SAFE static inline void kymo_reader_fail(kymo_reader *r)
{
    r->at = r->end;
    r->failed = true;
}

/* Whether so many bytes are left; else the reader has failed. */
KYMO_SIGNAL_SAFE static inline bool kymo_reader_has(kymo_reader *r, uint64_t len)
{
    if (kymo_likely(len <= kymo_reader_left(r)))
        return true;
    kymo_reader_fail(r);
    return false;
}

KYMO_SIGNAL_SAFE static inline void kymo_reader_skip(kymo_reader *r, uint64_t len)
{
    if (kymo_reader_has(r, len))
        r->at += len;
}

/* A pointer to the next len bytes; NULL if there are fewer, or the reader had failed before. */
KYMO_SIGNAL_SAFE static inline const void *kymo_read_bytes(kymo_reader *r, uint64_t len)
{
    const unsigned char *bytes = r->at;
    if (!kymo_reader_has(r, len) || r->failed)
        return NULL;
    r->at += len;
    return bytes;
}

#define KYMO_READ_FIXED(name, type)                                      \
    KYMO_SIGNAL_SAFE static inline type kymo_read_##name(kymo_reader *r) \
    {                                                                    \
        type value = 0;                                                  \
        if (kymo_reader_has(r, sizeof value)) {                          \
            memcpy(&value, r->at, sizeof value);                         \
            r->at += sizeof value;                                       \
        }                                                                \
        return value;                                                    \
    }
KYMO_READ_FIXED(u8, uint8_t)
KYMO_READ_FIXED(u16, uint16_t)
KYMO_READ_FIXED(u32, uint32_t)
KYMO_READ_FIXED(u64, uint64_t)
#undef KYMO_READ_FIXED

/* 1 to 8 bytes, zero-extended; any other number is a failure. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_read_uint(kymo_reader *r, unsigned bytes)
{
    uint64_t value = 0;
    switch (bytes) {
    case 1:
        return kymo_read_u8(r);
    case 2:
        return kymo_read_u16(r);
    case 4:
        return kymo_read_u32(r);
    case 8:
        return kymo_read_u64(r);
    default:
        if (bytes == 0 || bytes > 8)
            kymo_reader_fail(r);
        else if (kymo_reader_has(r, bytes))
            for (unsigned i = 0; i < bytes; i++)
                value |= (uint64_t)*r->at++ << 8 * i;
        return value;
    }
}

/* The same, sign-extended. */
KYMO_SIGNAL_SAFE static inline int64_t kymo_read_int(kymo_reader *r, unsigned bytes)
{
    unsigned unused_bits = 64 - 8 * bytes;
    return (int64_t)(kymo_read_uint(r, bytes) << unused_bits) >> unused_bits;
}

/* LEB128; more than 10 bytes are a failure, bits beyond 64 are dropped. *bits is how many were
 * read. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_read_leb(kymo_reader *r, unsigned *bits)
{
    uint64_t value = 0;
    for (*bits = 0; *bits < 64 && r->at < r->end;) {
        uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << *bits;
        *bits += 7;
        if (!(byte & 0x80))
            return value;
    }
    kymo_reader_fail(r);
    return 0;
}

/* Most are of one byte: these are inlined. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_read_uleb(kymo_reader *r)
{
    unsigned bits;
    if (kymo_likely(r->at < r->end && *r->at < 0x80))
        return *r->at++;
    return kymo_read_leb(r, &bits);
}

KYMO_SIGNAL_SAFE static inline int64_t kymo_read_sleb(kymo_reader *r)
{
    unsigned bits;
    uint64_t value = kymo_read_leb(r, &bits);
    if (bits < 64 && !r->failed && value >> (bits - 1))
        value |= ~(uint64_t)0 << bits;
    return (int64_t)value;
}

/* The text up to its NUL; "" (and failed) when there is none. Never NULL, so that several can be
 * read before `failed` is looked at. */
static inline const char *kymo_read_text(kymo_reader *r)
{
    const char *text = (const char *)r->at;
    const unsigned char *nul =
        r->at < r->end ? (const unsigned char *)memchr(text, 0, kymo_reader_left(r)) : NULL;
    if (!nul) {
        kymo_reader_fail(r);
        return "";
    }
    r->at = nul + 1;
    return text;
}

#endif
