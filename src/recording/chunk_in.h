/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_in.h - the lower half of the reader: reads bytes from a descriptor or memory, inflates
 * chunks.
 *
 * Layer:    recording; above base
 * Flow:     read(2) -> [chunk_in] -> recording_read.c
 * Threads:  one owner at a time
 * Memory:   the caller owns the structure; from init to deinit it owns buffers from malloc, which
 *           grow with the bytes actually read, not with the length that a header claims
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_CHUNK_IN_H
#define KYMO_RECORDING_CHUNK_IN_H

#include "base/error.h"
#include "recording/recording_format.h"

typedef struct kymo_chunk_in {
    int fd;                    /* -1: reads from memory */
    const unsigned char *data; /* the bytes from `at` on: a window of the file, or the memory */
    size_t len;
    uint64_t at;    /* offset in the input of data[0] */
    int at_end;     /* the input ends with the window */
    int by_offset;  /* uses pread: does not change fd's offset */
    uint64_t limit; /* of a descriptor: the input ends there; UINT64_MAX: where the file does */
    unsigned char *buffer;
    size_t buffer_cap;
    z_stream inflate; /* valid when inflate_ready */
    int inflate_ready;
    unsigned char *raw; /* the last inflated payload */
    size_t raw_cap;
} kymo_chunk_in;

/* by_offset: reads the file from its beginning and leaves fd's offset alone; else reads from
 * there on. */
void kymo_chunk_in_init_fd(kymo_chunk_in *b, int fd, int by_offset);
/* data is borrowed, and must not change until deinit. */
void kymo_chunk_in_init_memory(kymo_chunk_in *b, const void *data, size_t len);
void kymo_chunk_in_deinit(kymo_chunk_in *b);

/* Makes b->data hold the next `want` bytes, or all that are left; *got is their number.
 * Invalidates pointers into b->data. KYMO_E_IO or another error of read(2), KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_chunk_in_peek(kymo_chunk_in *b, size_t want, size_t *got, kymo_error *detail);
/* Steps over n bytes of the window. */
void kymo_chunk_in_skip(kymo_chunk_in *b, size_t n);

/* Inflates a compressed payload into b->raw; *raw_len is its length. KYMO_E_CORRUPT if it
 * violates the format, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_chunk_in_inflate(kymo_chunk_in *b, const unsigned char *payload, size_t len,
                               size_t *raw_len);

#endif
