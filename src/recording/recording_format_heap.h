/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_format_heap.h - the structures of a .kymo file about memory (doc/format-kymo.md, since
 * version 1.4).
 *
 * Layer:    recording
 * Flow:     shared by recording_write_*.c and recording_decode_*.c
 *
 * All events of allocations and mappings are rows of one kind of chunk, so the events of a thread
 * keep their order.
 */
#ifndef KYMO_RECORDING_RECORDING_FORMAT_HEAP_H
#define KYMO_RECORDING_RECORDING_FORMAT_HEAP_H

#include <assert.h>
#include <stdint.h>

#define KYMO_FILE_BYTES_MAX (1ull << 56) /* limit of an allocation, a mapping, a rate */

/* First number of a row: the kind of event, and flags for optional members. */
enum kymo_file_memory_flags {
    KYMO_FILE_MEMORY_ALLOCATION = 0,
    KYMO_FILE_MEMORY_FREE = 1,
    KYMO_FILE_MEMORY_RESIZE = 2,
    KYMO_FILE_MEMORY_MAPPING = 3,
    KYMO_FILE_MEMORY_INHERIT = 4,
    KYMO_FILE_MEMORY_LIVE = 5, /* since 1.8 */
    KYMO_FILE_MEMORY_WHAT = 7, /* mask of the kind */
    KYMO_FILE_MEMORY_STACK = 1 << 3,
    KYMO_FILE_MEMORY_BEFORE = 1 << 4,    /* of a mapping: has the values before */
    KYMO_FILE_MEMORY_INHERITED = 1 << 4, /* of a live allocation */
};

struct kymo_file_heap {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t allocator;
    uint32_t reserved;
    uint64_t rate;
    uint64_t map_least;
    uint64_t count;
    uint64_t bytes;
};

struct kymo_file_ledger {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t line;
    uint32_t reserved;
    uint64_t time_ns;
    int64_t bytes;
    uint64_t low;
    uint64_t high;
};

struct kymo_file_memory_info {
    uint32_t fixed_bytes;
    uint32_t process;
    uint64_t time_ns;
    uint64_t value;
};

static_assert(sizeof(struct kymo_file_heap) == 48, "layout");
static_assert(sizeof(struct kymo_file_ledger) == 48, "layout");
static_assert(sizeof(struct kymo_file_memory_info) == 24, "layout");

#endif
