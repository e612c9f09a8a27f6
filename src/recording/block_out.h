/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_out.h - the lower half of the writer: blocks into a descriptor.
 *
 * Layer:    recording; above base
 * Flow:     recording_write*.c -> [block_out] -> write(2)
 * Threads:  one owner at a time
 * Memory:   the caller owns the structure; init to deinit, it owns buffers from malloc
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_BLOCK_OUT_H
#define KYMO_RECORDING_BLOCK_OUT_H

#include <sys/types.h>

#include "base/bytes.h"
#include "recording/recording_format.h"

typedef struct kymo_block_out {
    int fd;
    size_t head_bytes; /* of the file header, where this writes it */
    off_t start;       /* where the recording begins in fd; -1 when fd cannot be cut (a pipe) */
    uint64_t written;  /* bytes of the recording that reached fd, in whole blocks after an error */
    kymo_error error;  /* the one that stays; code KYMO_OK while there is none */
    kymo_bytes out;
    z_stream deflate; /* valid when deflate_ready */
    int deflate_ready;
    unsigned char *packed; /* scratch: a compressed payload */
    size_t packed_cap;
} kymo_block_out;

/* Begins with the file header, unless it continues a file. To be deinit'ed even when it fails
 * (KYMO_E_NOMEM). */
KYMO_NODISCARD
kymo_err kymo_block_out_init(kymo_block_out *b, int fd, int continues);
void kymo_block_out_deinit(kymo_block_out *b);
/* Puts a block around payload, which is padded for that, and writes when there is enough.
 * KYMO_E_TOO_BIG: no block holds the payload, nothing was done. Any other error has to be made to
 * stay with kymo_block_out_fail. */
KYMO_NODISCARD
kymo_err kymo_block_out_put(kymo_block_out *b, enum kymo_block_type type, kymo_bytes *payload,
                            int compress);
/* Writes everything; after an error cuts the file back to a block's boundary. */
KYMO_NODISCARD
kymo_err kymo_block_out_flush(kymo_block_out *b);
/* Makes code the error that stays, if there is none yet; returns the one that does. */
kymo_err kymo_block_out_fail(kymo_block_out *b, kymo_err code);

#endif
