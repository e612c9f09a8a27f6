/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_plt.h - names for the stubs of procedure linkage tables: `memcpy@plt`.
 *
 * Layer:    symbolize (cold half); above elf_symbols
 * Flow:     .plt*, .rela.* -> [elf_plt] -> elf_symbols
 * Threads:  one owner at a time
 * Memory:   nothing is kept
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_ELF_PLT_H
#define KYMO_SYMBOLIZE_ELF_PLT_H

#include "symbolize/elf_symbols.h"

/* Adds a symbol for each stub of file whose target is known; x86-64 only, others give none. To be
 * called before kymo_elf_symbols_finish. Only KYMO_E_NOMEM and KYMO_E_TOO_BIG are errors. */
KYMO_NODISCARD
kymo_err kymo_elf_plt_add(kymo_elf_symbols *symbols, kymo_elf_file *file);

#endif
