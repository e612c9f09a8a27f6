/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_cursor.h - bounded reading of DWARF sections, inlined: a unit has millions of attributes.
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     section bytes -> [cursor] -> dwarf_*
 * Threads:  one owner at a time
 * Memory:   borrows the section
 * Signals:  not for handlers
 *
 * A read beyond the end gives zero and moves the cursor to the end with `bad` set, so that loops
 * end and one look at the end of a structure is enough.
 */
#ifndef KYMO_SYMBOLIZE_DWARF_CURSOR_H
#define KYMO_SYMBOLIZE_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

typedef struct dwarf_cursor {
    const unsigned char *p;
    const unsigned char *end;
    bool bad;
} dwarf_cursor;

/* A cursor over data[offset, limit); bad when they are no part of size bytes. */
static inline dwarf_cursor dwarf_cursor_at(const unsigned char *data, uint64_t size,
                                           uint64_t offset, uint64_t limit)
{
    if (limit > size)
        limit = size;
    if (!data || offset > limit)
        return (dwarf_cursor){NULL, NULL, true};
    return (dwarf_cursor){data + offset, data + limit, false};
}

static inline uint64_t dwarf_left(const dwarf_cursor *c)
{
    return (uint64_t)(c->end - c->p);
}

static inline bool dwarf_need(dwarf_cursor *c, uint64_t n)
{
    if (kymo_likely((uint64_t)(c->end - c->p) >= n))
        return true;
    c->p = c->end;
    c->bad = true;
    return false;
}

static inline void dwarf_skip(dwarf_cursor *c, uint64_t n)
{
    if (dwarf_need(c, n))
        c->p += n;
}

static inline uint8_t dwarf_u8(dwarf_cursor *c)
{
    return dwarf_need(c, 1) ? *c->p++ : 0;
}

static inline uint16_t dwarf_u16(dwarf_cursor *c)
{
    uint16_t v = 0;
    if (dwarf_need(c, 2)) {
        memcpy(&v, c->p, 2);
        c->p += 2;
    }
    return v;
}

static inline uint32_t dwarf_u32(dwarf_cursor *c)
{
    uint32_t v = 0;
    if (dwarf_need(c, 4)) {
        memcpy(&v, c->p, 4);
        c->p += 4;
    }
    return v;
}

static inline uint64_t dwarf_u64(dwarf_cursor *c)
{
    uint64_t v = 0;
    if (dwarf_need(c, 8)) {
        memcpy(&v, c->p, 8);
        c->p += 8;
    }
    return v;
}

/* n of 1 to 8 bytes, little-endian. */
static inline uint64_t dwarf_uint(dwarf_cursor *c, unsigned n)
{
    uint64_t v = 0;
    if (n >= 1 && n <= 8 && dwarf_need(c, n)) {
        memcpy(&v, c->p, n);
        c->p += n;
    } else {
        c->bad = true;
    }
    return v;
}

static inline uint64_t dwarf_uleb(dwarf_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = true;
    return 0;
}

static inline int64_t dwarf_sleb(dwarf_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; c->p < c->end;) {
        uint8_t byte = *c->p++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                v |= ~(uint64_t)0 << shift;
            return (int64_t)v;
        }
    }
    c->bad = true;
    return 0;
}

/* Text up to its NUL; "" (and bad) when there is none. */
static inline const char *dwarf_text(dwarf_cursor *c)
{
    const unsigned char *nul = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
    if (!nul) {
        c->p = c->end;
        c->bad = true;
        return "";
    }
    const char *text = (const char *)c->p;
    c->p = nul + 1;
    return text;
}

#endif
