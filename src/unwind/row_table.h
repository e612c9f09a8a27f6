/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_table.h - all unwind rows of one ELF file, compiled into position-independent bytes.
 *
 * Layer:    unwind; above base
 * Flow:     recorder: ELF file -> [build] -> bytes -> the program, read-only:
 *           kymo_walker_table_add() -> [find] inside a handler
 * Threads:  a table is immutable; any number of readers
 * Memory:   build uses malloc and writes into the caller's sink; find only reads
 * Signals:  kymo_row_table_find is safe; build and check are not for handlers
 *
 * Layout (little-endian, each part 8-byte aligned, in this order):
 *   header    struct kymo_row_table_header
 *   rules     uint64_t[rules]: distinct packed rows (arch/row.h); rule 0 is "no row"
 *   buckets   uint32_t[buckets + 1]: bucket b holds rows [buckets[b], buckets[b + 1]), those whose
 *             offset lies in [256 b, 256 (b + 1))
 *   rows      {uint32_t offset; uint32_t rule}[rows], sorted by offset: the rule holds from its
 *             offset to the next row's
 */
#ifndef KYMO_UNWIND_ROW_TABLE_H
#define KYMO_UNWIND_ROW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define KYMO_ROW_TABLE_MAGIC 0x32776f724f4d594bull /* "KYMOrow2" */

struct kymo_row_table_header {
    uint64_t magic;
    uint64_t base_vaddr; /* virtual address in the file that offsets count from */
    uint32_t rules;
    uint32_t buckets;
    uint32_t rows;
    uint32_t text_size; /* offsets from here on have no row */
    uint64_t size;      /* of the whole table in bytes */
};

struct kymo_row_table_row {
    uint32_t offset;
    uint32_t rule;
};

/* What a build found; for reports and tests. */
struct kymo_row_table_stats {
    uint64_t fdes;
    uint64_t rows;
    uint64_t rules;
    uint64_t interpreted; /* rows that do not fit a packed row: the handler interprets .eh_frame */
    uint64_t broken; /* FDEs that could not be understood; their addresses are interpreted, too */
    uint64_t size_bytes;
};

/* Compiles the rows of an ELF file of this architecture (its whole content, in memory; it may be
 * hostile) into sink. stats may be NULL. KYMO_E_CORRUPT: not such a file, or broken;
 * KYMO_E_UNSUPPORTED: no .eh_frame_hdr with a search table; KYMO_E_TOO_BIG: its text spans 4 GiB or
 * more; errors of the sink; KYMO_E_NOMEM. detail may be NULL. */
KYMO_NODISCARD
kymo_err kymo_row_table_build(const void *elf, size_t elf_size, kymo_sink *sink,
                              struct kymo_row_table_stats *stats, kymo_error *detail);

/* Checks a table's frame (magic, sizes), which is all that find relies on beside its own bounds. */
KYMO_NODISCARD
kymo_err kymo_row_table_check(const void *data, size_t size);

/* The address, in the file's own virtual addresses, that the table's offsets count from: add the
 * load bias for kymo_walker_table_add(). The table must have been checked. */
uint64_t kymo_row_table_base(const void *data);

/* The packed row at offset, KYMO_ROW_NONE if there is none. data was checked once with this size;
 * if its content was corrupted since, the answer is a wrong row, never a read outside [data, data +
 * size). */
KYMO_SIGNAL_SAFE uint64_t kymo_row_table_find(const void *data, size_t size, uint64_t offset);

#endif
