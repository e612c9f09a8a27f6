/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_sink.h - compresses what passes through it.
 *
 * Layer:    encode; above base
 * Flow:     formats -> [gzip_sink] -> another sink
 * Threads:  one owner at a time
 * Memory:   zlib's state (256 KiB) and 64 KiB of output, from init to deinit
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_GZIP_SINK_H
#define KYMO_ENCODE_GZIP_SINK_H

#define ZLIB_CONST /* makes next_in a pointer to const */
#include <zlib.h>

#include "base/bytes.h"

typedef struct kymo_gzip_sink {
    kymo_sink sink; /* first, so that &gzip->sink converts back */
    kymo_sink *to;
    z_stream stream;
    unsigned char out[1 << 16];
} kymo_gzip_sink;

/* level 1 to 9. After an error there is nothing to deinit. */
KYMO_NODISCARD
kymo_err kymo_gzip_sink_init(kymo_gzip_sink *gzip, kymo_sink *to, int level);
/* Writes the rest and gzip's trailer. */
KYMO_NODISCARD
kymo_err kymo_gzip_sink_finish(kymo_gzip_sink *gzip);
void kymo_gzip_sink_deinit(kymo_gzip_sink *gzip);

#endif
