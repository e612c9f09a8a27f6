/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_symbols.h - a symbolizer's state of one module.
 *
 * Layer:    symbolize (cold half), private to the stage
 * Flow:     symbolize.c opens -> [module] -> module_symbols.c looks up
 * Threads:  the symbolizer's
 * Memory:   the symbolizer owns modules
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_MODULE_SYMBOLS_H
#define KYMO_SYMBOLIZE_MODULE_SYMBOLS_H

#include "base/hash.h"
#include "symbolize/debug_files.h"
#include "symbolize/dwarf_units.h"
#include "symbolize/eh_functions.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/symbol_strings.h"
#include "symbolize/symbolize.h"

struct kymo_symbolizer {
    kymo_symbol_strings strings;
    kymo_debug_places places; /* text in strings */
    const char **dirs;
    const struct kymo_section_cache *cache; /* borrowed; NULL: none */
    kymo_module_symbols *modules;
};

/* A function of the DWARF, by the entry that names it. */
typedef struct named_function {
    uint64_t entry;
    const char *function; /* NULL: it has no name */
    const char *system_name;
    uint32_t line;
    bool in_alt;
    bool is_wrapper; /* not a frame in stacks */
    bool linked;     /* system_name is a linkage name */
} named_function;

struct kymo_module_symbols {
    kymo_symbolizer *owner;
    kymo_module_symbols *next;
    unsigned char build_id[KYMO_BUILD_ID_CAP];
    size_t build_id_len; /* 0: unverified, never shared */
    kymo_elf_file *own;  /* NULL: only a debug file was found */
    kymo_elf_file *debug;
    kymo_elf_file *alt_elf;
    kymo_elf_symbols symbols;
    kymo_eh_functions eh; /* of own, read when the first code without a symbol is looked up */
    bool eh_tried;
    kymo_elf_file *dwarf_elf; /* own or debug, borrowed; NULL: no DWARF */
    bool dwarf_tried;
    kymo_dwarf *dwarf; /* NULL: not read yet, or none */
    kymo_dwarf *alt;
    dwarf_unit_index units;
    KYMO_VEC(named_function) functions;
    kymo_index function_index;
    dwarf_asked asked;             /* the batch; the tables of units are for it alone */
    KYMO_VEC(dwarf_unit *) loaded; /* units with tables in memory */
    size_t table_bytes;            /* of those tables */
    kymo_symbol_status status;
};

#endif
