/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_chunks.h - chunks of a .kymo file in memory, for tests that break them.
 */
#ifndef KYMO_TESTS_FILE_CHUNKS_H
#define KYMO_TESTS_FILE_CHUNKS_H

#include "base/bytes.h"

/* Puts the right checksum on the chunk at `at`. */
void file_chunk_seal(kymo_bytes *file, size_t at);
/* Appends a chunk. */
kymo_err file_chunk_put(kymo_bytes *file, uint32_t type, uint32_t flags, const void *payload,
                        size_t len);
/* Where chunks begin, and as the last one the end; returns how many chunks there are. 0: more than
 * cap - 1. */
size_t file_chunk_starts(const kymo_bytes *file, size_t *starts, size_t cap);

#endif
