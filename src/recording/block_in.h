/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_in.h - the lower half of the reader: bytes from a descriptor or memory, and inflated
 * blocks.
 *
 * Layer:    recording; above base
 * Flow:     read(2) -> [block_in] -> recording_read.c
 * Threads:  one owner at a time
 * Memory:   the caller owns the structure; init to deinit, it owns buffers from malloc, which grow
 *           with the bytes that are really there, never with what a length claims
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_BLOCK_IN_H
#define KYMO_RECORDING_BLOCK_IN_H

#include "base/error.h"
#include "recording/recording_format.h"

typedef struct kymo_block_in {
    int fd;                    /* -1: from memory */
    const unsigned char *data; /* what is there from `at` on: a window of the file, or the memory */
    size_t len;
    uint64_t at;   /* offset in the input of data[0] */
    int at_end;    /* nothing comes after the window */
    int by_offset; /* read with pread: fd's own offset is another's */
    unsigned char *buffer;
    size_t buffer_cap;
    z_stream inflate; /* valid when inflate_ready */
    int inflate_ready;
    unsigned char *raw; /* the last inflated payload */
    size_t raw_cap;
} kymo_block_in;

/* by_offset: the whole file, whatever fd's offset is, which stays as it is; else what comes next.
 */
void kymo_block_in_init_fd(kymo_block_in *b, int fd, int by_offset);
/* data stays the caller's, and as it is until deinit. */
void kymo_block_in_init_memory(kymo_block_in *b, const void *data, size_t len);
void kymo_block_in_deinit(kymo_block_in *b);

/* Makes b->data hold the next `want` bytes, or all that are left; *got is how many of them it has.
 * What b->data pointed to before is gone. KYMO_E_IO and the like from read(2), KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_block_in_peek(kymo_block_in *b, size_t want, size_t *got, kymo_error *detail);
/* Steps over n bytes of the window. */
void kymo_block_in_skip(kymo_block_in *b, size_t n);

/* Inflates a compressed payload into b->raw; *raw_len is its length. KYMO_E_CORRUPT when it is not
 * as the format says, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_block_in_inflate(kymo_block_in *b, const unsigned char *payload, size_t len,
                               size_t *raw_len);

#endif
