/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the bytes of a file, without their compression.
 *
 * Layer:    import
 * Flow:     file, pipe, memory -> [input] -> import.c
 * Threads:  one owner at a time
 * Memory:   the caller owns the bytes that come out; compressed ones are never there as a whole
 * Signals:  not for handlers
 */
#ifndef KYMO_IMPORT_INPUT_H
#define KYMO_IMPORT_INPUT_H

#include "base/bytes.h"
#include "base/error.h"

#define KYMO_INPUT_HEAD 4096

/* Reads all of fd; of gzip data, every member. KYMO_E_TOO_BIG beyond the limit of `out`, which may
 * hold a part after an error. */
KYMO_NODISCARD
kymo_err kymo_input_read_fd(int fd, kymo_bytes *out, kymo_error *detail);
KYMO_NODISCARD
kymo_err kymo_input_read_memory(const void *data, size_t len, kymo_bytes *out, kymo_error *detail);

/* The first bytes of what fd would give next, which stay in it; 0: they are not known. */
size_t kymo_input_peek(int fd, char head[KYMO_INPUT_HEAD]);
/* The first bytes of data that may be compressed, uncompressed as far as they go. */
size_t kymo_input_plain_head(const void *data, size_t len, char plain[KYMO_INPUT_HEAD]);

#endif
