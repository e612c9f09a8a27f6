/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - writes bytes into a sink, or into memory that grows.
 *
 * Layer:    base (cold half only)
 * Flow:     encode/, recorder/ -> [sink] -> file, compressor, memory
 * Threads:  one owner at a time
 * Memory:   kymo_bytes owns its buffer
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

#endif
