/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_area.h - which row tables the recorder has for the modules of a process.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     recorder/row_tables.c -> [table area] -> capture/tables.c -> walker
 * Threads:  one writer (the recorder); any number of readers
 * Memory:   lies in the session. The tables themselves depend on no address: they lie in a memory
 *           that all processes of a recording share, and can only read
 * Signals:  reading is safe
 *
 * An area is filled from its start and never changed behind `count`: a reader takes the entries
 * that it has not seen yet. What they name stays as it is for as long as the tables are mapped.
 */
#ifndef KYMO_BUFFER_TABLE_AREA_H
#define KYMO_BUFFER_TABLE_AREA_H

#include <stdint.h>

#define KYMO_TABLE_AREA_ENTRIES 62u

struct kymo_table_entry {
    uint64_t map_start, map_end; /* the module that the table is for, as mapped */
    uint64_t base;               /* runtime address that the table's offsets count from */
    uint64_t at;                 /* offset of the table in the shared memory */
    uint64_t size_bytes;
    uint64_t bias; /* of the module: runtime address - ELF address */
};

struct kymo_table_area {
    uint32_t count; /* release by the recorder */
    uint32_t reserved[15];
    struct kymo_table_entry entries[KYMO_TABLE_AREA_ENTRIES];
};

#endif
