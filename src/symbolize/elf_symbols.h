/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.h - the code symbols of a module, from all of its tables, by address.
 *
 * Layer:    symbolize (cold half); above elf_file
 * Flow:     .symtab, .dynsym, .gnu_debugdata, .plt -> [elf_symbols] -> module
 * Threads:  one owner at a time
 * Memory:   owns its arrays and copies of the names
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_ELF_SYMBOLS_H
#define KYMO_SYMBOLIZE_ELF_SYMBOLS_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbolize/elf_file.h"

typedef struct kymo_elf_symbol {
    uint64_t address;
    uint64_t end;
    const char *name;
    uint32_t order;     /* order of adding: of equal symbols the first is shown */
    uint32_t enclosing; /* set by finish: index of the nearest symbol before that reaches beyond
                           this one's start; UINT32_MAX: none */
    uint8_t rank;       /* of several at one address, the lowest is best */
} kymo_elf_symbol;

/* The rank of a linkage stub that elf_plt.c named. */
#define KYMO_ELF_RANK_STUB 3

typedef KYMO_VEC(kymo_elf_symbol) kymo_elf_symbol_vec;

typedef struct kymo_elf_symbols {
    kymo_elf_symbol_vec sized;
    kymo_elf_symbol_vec unsized;
    kymo_arena names;
    size_t n_addresses; /* distinct; set by finish */
} kymo_elf_symbols;

void kymo_elf_symbols_deinit(kymo_elf_symbols *symbols);

/* Adds the functions of a table section (.symtab or .dynsym). Damaged entries are skipped. */
KYMO_NODISCARD
kymo_err kymo_elf_symbols_add_table(kymo_elf_symbols *symbols, kymo_elf_file *file,
                                    kymo_elf_section *table);
/* The same from PT_DYNAMIC, for a file (or an image) without a section table. KYMO_E_NOT_FOUND
 * if that has none. */
KYMO_NODISCARD
kymo_err kymo_elf_symbols_add_dynamic(kymo_elf_symbols *symbols, kymo_elf_file *file);
/* Adds a symbol (copies its name). size 0: to be estimated. */
KYMO_NODISCARD
kymo_err kymo_elf_symbols_add(kymo_elf_symbols *symbols, uint64_t address, uint64_t size,
                              const char *name, uint8_t rank);
/* Sorts. A symbol without a size extends to the next one in the same section of `file`. Call
 * once, after all were added and before find. */
void kymo_elf_symbols_finish(kymo_elf_symbols *symbols, const kymo_elf_file *file);

/* The symbol whose extent contains address, or NULL. Of several the one with the last start; of
 * those functions first, then symbols with a type, then the smaller, then the first of the
 * table: the choice of addr2line. A symbol without a size is used only if no other contains the
 * address. */
const kymo_elf_symbol *kymo_elf_symbols_find(const kymo_elf_symbols *symbols, uint64_t address);

/* elf_plt.c: adds a symbol, `memcpy@plt`, for each linkage stub of file whose target is known;
 * of files of this architecture only. Call before kymo_elf_symbols_finish. Errors: KYMO_E_NOMEM,
 * KYMO_E_TOO_BIG. */
KYMO_NODISCARD
kymo_err kymo_elf_plt_add(kymo_elf_symbols *symbols, kymo_elf_file *file);

#endif
