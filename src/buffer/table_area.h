/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_area.h - where the recorder puts row tables for the program to read.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     recorder/row_builder.c -> [table area] -> capture/tables.c -> walker
 * Threads:  one writer (the recorder); any number of readers
 * Memory:   lies behind the session in the same shared memory; the program maps it read-only
 * Signals:  reading is safe
 *
 * An area is filled from its start and never changed behind `count`: a reader takes the entries
 * that it has not seen yet, and may use them for as long as it maps the area.
 */
#ifndef KYMO_BUFFER_TABLE_AREA_H
#define KYMO_BUFFER_TABLE_AREA_H

#include <stdint.h>

#define KYMO_TABLE_AREA_ENTRIES 62u

struct kymo_table_entry {
    uint64_t map_start, map_end; /* the module that the table is for, as mapped */
    uint64_t base;               /* runtime address that the table's offsets count from */
    uint64_t at;                 /* offset of the table in the area */
    uint64_t size_bytes;
    uint64_t bias; /* of the module: runtime address - ELF address */
};

struct kymo_table_area {
    uint32_t count; /* release by the recorder */
    uint32_t reserved[15];
    struct kymo_table_entry entries[KYMO_TABLE_AREA_ENTRIES];
};

#endif
