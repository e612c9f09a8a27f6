/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_lines.h - the source line of an address of a unit.
 *
 * Layer:    symbolize (cold half); above dwarf_file
 * Flow:     .debug_line -> [dwarf_lines] -> module
 * Threads:  one owner at a time
 * Memory:   a table belongs to its unit; text points into the sections
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DWARF_LINES_H
#define KYMO_SYMBOLIZE_DWARF_LINES_H

#include "base/str.h"
#include "symbolize/dwarf_file.h"

/* The line of an address that was asked for. */
typedef struct dwarf_row {
    uint64_t address;
    uint64_t low; /* first address of the sequence that has it */
    uint32_t file;
    uint32_t line;
} dwarf_row;

typedef struct dwarf_line_file {
    const char *name;
    uint64_t directory;
    const char *path; /* with its directories; NULL: not joined yet */
} dwarf_line_file;

typedef struct dwarf_line_table {
    KYMO_VEC(dwarf_row) rows;           /* by address; of one address, by low */
    KYMO_VEC(dwarf_line_file) files;    /* at the index that the program uses */
    KYMO_VEC(const char *) directories; /* [0] is the compilation directory, or NULL */
} dwarf_line_table;

/* Runs the unit's line program, for these addresses. A damaged one gives the rows before the
 * damage, a unit without lines an empty table. Only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_lines_build(kymo_dwarf *dwarf, dwarf_unit *unit, const dwarf_asked *asked,
                                dwarf_line_table **out);
/* NULL is allowed. */
void kymo_dwarf_lines_free(dwarf_line_table *table);
/* The row of an address that was asked for, or NULL. */
const dwarf_row *kymo_dwarf_lines_find(const dwarf_line_table *table, uint64_t address);
/* Puts the path of a file into out, joined to its directories. Returns false if it is unknown. */
bool kymo_dwarf_lines_path(const dwarf_unit *unit, const dwarf_line_table *table, uint32_t file,
                           kymo_str *out);
size_t kymo_dwarf_lines_bytes(const dwarf_line_table *table);

#endif
