/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_all.h - writing until everything is written, and reading until all is read.
 *
 * Layer:    sys (cold half only)
 * Threads:  any
 * Signals:  not for handlers
 */
#ifndef KYMO_SYS_WRITE_ALL_H
#define KYMO_SYS_WRITE_ALL_H

#include <stddef.h>
#include <stdint.h>

/* Writes len bytes at the descriptor's place, however many calls that takes. Returns how many were
 * written: fewer than len after an error, which errno then tells (ENOSPC where a write of nothing
 * says none). */
size_t kymo_write_all(int fd, const void *data, size_t len);
/* Reads len bytes at an offset of a file. Returns how many were read: fewer than len where the file
 * ends (errno is 0) and after an error, which errno then tells. */
size_t kymo_read_all(int fd, void *data, size_t len, uint64_t at);

#endif
