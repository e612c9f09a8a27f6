/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_functions.h - which functions, out of line and inlined, hold an address of a unit.
 *
 * Layer:    symbolize (cold half); above dwarf_file
 * Flow:     .debug_info -> [dwarf_functions] -> module
 * Threads:  one owner at a time
 * Memory:   a table belongs to its unit
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DWARF_FUNCTIONS_H
#define KYMO_SYMBOLIZE_DWARF_FUNCTIONS_H

#include "symbolize/dwarf_file.h"
#include "symbolize/intervals.h"

/* A function that has code in the unit, or one place where a function was inlined. */
typedef struct dwarf_function {
    uint64_t entry;     /* where its name is: itself, or (inlined) what it is an instance of */
    uint64_t low;       /* first address of its first range */
    uint32_t parent;    /* the function with code that it lies in; KYMO_INTERVAL_NONE */
    uint32_t call_file; /* inlined: where it is called in its parent */
    uint32_t call_line;
    bool inlined;
    bool in_alt; /* entry is in the dwz file */
} dwarf_function;

typedef struct dwarf_function_table {
    KYMO_VEC(dwarf_function) functions;
    kymo_intervals ranges; /* value: index of the function */
} dwarf_function_table;

/* Walks the entries of a unit once. A damaged unit gives what came before the damage.
 * Errors: KYMO_E_CORRUPT (its root cannot be read), KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_dwarf_functions_build(kymo_dwarf *dwarf, dwarf_unit *unit,
                                    dwarf_function_table **out);
/* NULL is allowed. */
void kymo_dwarf_functions_free(dwarf_function_table *table);
/* The innermost function that holds the address, or NULL. */
const dwarf_function *kymo_dwarf_functions_find(const dwarf_function_table *table,
                                                uint64_t address);
size_t kymo_dwarf_functions_bytes(const dwarf_function_table *table);

/* What an entry of a function, and those that it refers to, say. */
typedef struct dwarf_function_name {
    const char *name;         /* DW_AT_name; NULL: none */
    const char *linkage_name; /* NULL: none */
    uint32_t line;            /* of its declaration; 0: unknown */
    bool is_wrapper; /* an inline function that its author marked as part of its caller's line */
} dwarf_function_name;

/* Follows DW_AT_abstract_origin and DW_AT_specification into other units and the dwz file. The
 * text lives as long as the DWARF files. */
void kymo_dwarf_function_name(kymo_dwarf *dwarf, uint64_t entry, bool in_alt,
                              dwarf_function_name *out);

#endif
