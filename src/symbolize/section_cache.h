/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_cache.h - keeps inflated debug sections in files, so that later recordings read them
 * instead of inflating them.
 *
 * Layer:    symbolize (cold half); above base and sys
 * Flow:     elf_content.c <-> [section_cache] <-> sys/cache_folder.h
 * Threads:  one owner at a time; several processes may use the folder at once
 * Memory:   the caller owns the sections that it opens
 * Signals:  not for handlers
 *
 * A file `section-HASH` has the beginning of one section, as far as it was needed:
 *
 *   header | checksum of each block of 4 KiB | blocks
 *
 * The header has the key, which says of which file, in which state, and of which section; a sum of
 * header and checksums; and the number of bytes. Numbers are in the byte order of the machine: the
 * files never leave it. A file with any content gives bytes that have the right checksum, or none.
 */
#ifndef KYMO_SYMBOLIZE_SECTION_CACHE_H
#define KYMO_SYMBOLIZE_SECTION_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Of smaller sections the file costs more than the inflating; larger ones would fill the disk. */
#define KYMO_SECTION_CACHE_LEAST (64u << 10)
#define KYMO_SECTION_CACHE_MOST (128u << 20)
#define KYMO_SECTION_CACHE_BLOCK 4096u
/* Of all files together; the ones not used for longest go. */
#define KYMO_SECTION_CACHE_TOTAL (512u << 20)

typedef struct kymo_section_cache {
    int folder; /* of kymo_cache_open; -1: nothing is kept */
} kymo_section_cache;

/* What tells a section, and the state of its file, from all others. Any change of a file changes
 * its ctime. */
typedef struct kymo_section_key {
    uint64_t device;
    uint64_t inode;
    uint64_t file_bytes;
    uint64_t modified_ns; /* mtime */
    uint64_t changed_ns;  /* ctime */
    uint64_t build_id;    /* its hash */
    uint64_t offset;      /* of the compressed section in the file */
    uint64_t packed_bytes;
    uint64_t bytes; /* inflated */
} kymo_section_key;

typedef struct kymo_cached_section kymo_cached_section;

/* KYMO_E_NOT_FOUND: there is none of this key; KYMO_E_CORRUPT; KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_cached_section_open(const kymo_section_cache *cache, const kymo_section_key *key,
                                  kymo_cached_section **out);
/* NULL is allowed. */
void kymo_cached_section_close(kymo_cached_section *section);
/* How many bytes from the beginning of the section it has. */
uint64_t kymo_cached_section_bytes(const kymo_cached_section *section);
/* Reads data[*ready, end) or some bytes more, and sets *ready to where they end. data: of the whole
 * section; *ready: a multiple of the size of a block, or set by the last call; end: at most
 * kymo_cached_section_bytes. KYMO_E_CORRUPT: a checksum is wrong. */
KYMO_NODISCARD
kymo_err kymo_cached_section_read(const kymo_cached_section *section, unsigned char *data,
                                  size_t *ready, size_t end);

/* Keeps the first len bytes of a section, in place of what is kept of it. An error of writing
 * changes nothing, and is not reported. */
void kymo_section_cache_put(const kymo_section_cache *cache, const kymo_section_key *key,
                            const unsigned char *data, size_t len);

#endif
