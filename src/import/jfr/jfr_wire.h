/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_wire.h - numbers of JFR files: varints, and big-endian ones.
 *
 * Layer:    import; above base
 * Flow:     bytes of a chunk -> [jfr_wire] -> read_jfr*.c
 * Threads:  any
 * Memory:   borrows the bytes
 * Signals:  not for handlers
 */
#ifndef KYMO_IMPORT_JFR_JFR_WIRE_H
#define KYMO_IMPORT_JFR_JFR_WIRE_H

#include "base/reader.h"

/* At most 9 bytes: the last one has eight bits of the value, the others seven. */
static inline uint64_t kymo_jfr_read_varint(kymo_reader *r)
{
    enum { LAST_SHIFT = 56 };
    uint64_t value = 0;
    if (kymo_likely(r->at < r->end && *r->at < 0x80))
        return *r->at++;
    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift == LAST_SHIFT || byte < 0x80)
            return value | (uint64_t)byte << shift;
        value |= (uint64_t)(byte & 0x7f) << shift;
    }
    kymo_reader_fail(r);
    return 0;
}

static inline uint16_t kymo_jfr_read_u16(kymo_reader *r)
{
    return __builtin_bswap16(kymo_read_u16(r));
}

static inline uint32_t kymo_jfr_read_u32(kymo_reader *r)
{
    return __builtin_bswap32(kymo_read_u32(r));
}

static inline uint64_t kymo_jfr_read_u64(kymo_reader *r)
{
    return __builtin_bswap64(kymo_read_u64(r));
}

#endif
