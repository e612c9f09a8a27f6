/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_functions.h - finds the functions, out of line and inlined, at an address of a unit.
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

/* A function with code in the unit, or one inlined instance of a function. */
typedef struct dwarf_function {
    uint64_t entry;     /* entry with its name: its own, or (inlined) its abstract origin */
    uint64_t low;       /* first address of its first range */
    uint32_t parent;    /* the function with code that contains it; KYMO_INTERVAL_NONE */
    uint32_t call_file; /* inlined: its call site in the parent */
    uint32_t call_line;
    bool inlined;
    bool in_alt; /* entry is in the dwz file */
} dwarf_function;

typedef struct dwarf_function_table {
    KYMO_VEC(dwarf_function) functions;
    kymo_intervals ranges; /* value: index of the function */
    bool has_all;
} dwarf_function_table;

/* Reads the entries of a unit once. For a damaged unit, uses what came before the damage.
 *
 * asked: functions without any of these addresses are stepped over, with all that is in them. In a
 * valid file that may hide a function with code elsewhere, such as a nested one: where an address
 * is in no function, look again with NULL, which reads all.
 *
 * Errors: KYMO_E_CORRUPT (its root cannot be read), KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_dwarf_functions_build(kymo_dwarf *dwarf, dwarf_unit *unit, const dwarf_asked *asked,
                                    dwarf_function_table **out);
/* NULL is allowed. */
void kymo_dwarf_functions_free(dwarf_function_table *table);
/* The innermost function at the address, or NULL. */
const dwarf_function *kymo_dwarf_functions_find(const dwarf_function_table *table,
                                                uint64_t address);
size_t kymo_dwarf_functions_bytes(const dwarf_function_table *table);

/* Attributes of a function's entry and of the entries that it refers to. */
typedef struct dwarf_function_name {
    const char *name;         /* DW_AT_name; NULL: none */
    const char *linkage_name; /* NULL: none */
    uint32_t line;            /* of its declaration; 0: unknown */
    bool is_wrapper; /* an inline function that its author marked as part of the caller's line */
} dwarf_function_name;

/* Follows DW_AT_abstract_origin and DW_AT_specification into other units and the dwz file. The
 * text lives as long as the DWARF files. */
void kymo_dwarf_function_name(kymo_dwarf *dwarf, uint64_t entry, bool in_alt,
                              dwarf_function_name *out);

#endif
