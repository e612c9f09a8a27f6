/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - writing bytes into a sink, and reading them back with bounds.
 *
 * Layer:    base (cold half only)
 * Flow:     encode/, recorder/ -> [sink] -> file, compressor, memory
 * Threads:  one owner at a time
 * Memory:   kymo_bytes owns its buffer; a reader borrows its input
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_BYTES_H
#define KYMO_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/sink.h"

static inline kymo_err kymo_sink_write(kymo_sink *sink, const void *data, size_t len)
{
    return sink->write(sink, data, len);
}

/* A growable byte buffer with a stated limit (its sink fails with KYMO_E_TOO_BIG beyond it). */
typedef struct kymo_bytes {
    kymo_sink sink; /* first, so that &bytes->sink converts back */
    unsigned char *data;
    size_t len;
    size_t cap;
    size_t limit;
} kymo_bytes;

void kymo_bytes_init(kymo_bytes *bytes, size_t limit);
void kymo_bytes_deinit(kymo_bytes *bytes);
/* Forgets the content and keeps the memory. */
void kymo_bytes_clear(kymo_bytes *bytes);
KYMO_NODISCARD
kymo_err kymo_bytes_append(kymo_bytes *bytes, const void *data, size_t len);
KYMO_NODISCARD
kymo_err kymo_bytes_u32(kymo_bytes *bytes, uint32_t value); /* little-endian */
KYMO_NODISCARD
kymo_err kymo_bytes_u64(kymo_bytes *bytes, uint64_t value);

/* A bounded reader. Every read beyond the end returns zeros and sets `failed` for good, so that a
 * parser may read a whole structure and look once. */
typedef struct kymo_reader {
    const unsigned char *data;
    size_t len;
    size_t pos;
    int failed;
} kymo_reader;

static inline kymo_reader kymo_reader_of(const void *data, size_t len)
{
    return (kymo_reader){.data = (const unsigned char *)data, .len = len};
}
uint8_t kymo_read_u8(kymo_reader *r);
uint16_t kymo_read_u16(kymo_reader *r);
uint32_t kymo_read_u32(kymo_reader *r);
uint64_t kymo_read_u64(kymo_reader *r);
/* LEB128; more than 64 bits is a failure. */
uint64_t kymo_read_uleb(kymo_reader *r);
int64_t kymo_read_sleb(kymo_reader *r);
/* A pointer to the next len bytes of the input, NULL (and failed) if there are fewer. */
const void *kymo_read_bytes(kymo_reader *r, size_t len);
static inline size_t kymo_reader_left(const kymo_reader *r)
{
    return r->failed ? 0 : r->len - r->pos;
}

#endif
