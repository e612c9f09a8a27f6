/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_out.h - the lower half of the writer: writes chunks to a descriptor.
 *
 * Layer:    recording; above base
 * Flow:     recording_write*.c -> [chunk_out] -> write(2)
 * Threads:  one owner at a time
 * Memory:   the caller owns the structure; init to deinit, it owns buffers from malloc
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_CHUNK_OUT_H
#define KYMO_RECORDING_CHUNK_OUT_H

#include <sys/types.h>

#include "base/bytes.h"
#include "recording/recording_format.h"

typedef struct kymo_chunk_out {
    int fd;
    size_t head_bytes; /* size of the file header, if this wrote one */
    off_t start;       /* offset of the recording in fd; -1 if fd cannot be truncated (a pipe) */
    uint64_t written;  /* bytes of the recording written to fd; after an error, of whole chunks */
    kymo_error error;  /* the first error, which stays; code KYMO_OK: none */
    int goes_on;       /* errors of writing are no errors here, but `missed` */
    kymo_error missed; /* code not KYMO_OK: nothing was written from that write on */
    kymo_bytes out;
    z_stream deflate; /* valid when deflate_ready */
    int deflate_ready;
    unsigned char *packed; /* scratch: a compressed payload */
    size_t packed_cap;
} kymo_chunk_out;

/* Begins with the file header, unless it continues a file. Must be deinit'ed even after an error
 * (KYMO_E_NOMEM). */
KYMO_NODISCARD
kymo_err kymo_chunk_out_init(kymo_chunk_out *b, int fd, int continues);
void kymo_chunk_out_deinit(kymo_chunk_out *b);
/* Appends a chunk with this payload, which is padded; writes when the buffer is full.
 * KYMO_E_TOO_BIG: the payload exceeds a chunk, nothing was done. The caller passes any other
 * error to kymo_chunk_out_fail. */
KYMO_NODISCARD
kymo_err kymo_chunk_out_put(kymo_chunk_out *b, enum kymo_chunk_type type, kymo_bytes *payload,
                            int compress);
/* Writes all; after an error truncates the file to the end of a chunk. */
KYMO_NODISCARD
kymo_err kymo_chunk_out_flush(kymo_chunk_out *b);
/* Sets the error that stays, unless there is one; returns the one that stays. */
kymo_err kymo_chunk_out_fail(kymo_chunk_out *b, kymo_err code);

#endif
