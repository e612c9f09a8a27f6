/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_blocks.h - blocks of a .kymo file in memory, for tests that break them.
 */
#ifndef KYMO_TESTS_FILE_BLOCKS_H
#define KYMO_TESTS_FILE_BLOCKS_H

#include "base/bytes.h"

/* Puts the right checksum on the block at `at`. */
void file_block_seal(kymo_bytes *file, size_t at);
/* Appends a block. */
kymo_err file_block_put(kymo_bytes *file, uint32_t type, uint32_t flags, const void *payload,
                        size_t len);
/* Where blocks begin, and as the last one the end; returns how many blocks there are. 0: more than
 * cap - 1. */
size_t file_block_starts(const kymo_bytes *file, size_t *starts, size_t cap);

#endif
