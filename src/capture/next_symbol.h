/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_symbol.h - what a library defines under a name, without dlsym.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     the loader's list of libraries -> [next_symbol] -> alloc_next.c
 * Threads:  any, while no other one loads or unloads a library
 * Memory:   none
 * Signals:  safe: no lock, no call
 *
 * dlsym allocates, locks, and may itself be what calls malloc for the first time.
 */
#ifndef KYMO_CAPTURE_NEXT_SYMBOL_H
#define KYMO_CAPTURE_NEXT_SYMBOL_H

#include <link.h>
#include <stdint.h>

#include "base/attr.h"

/* The dynamic symbols of one library, where the loader has them. */
struct kymo_symbol_table {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* NULL: it has none */
    const uint32_t *gnu_hash;    /* NULL: it has the older table alone */
    const uint32_t *hash;
};

/* Returns 0 if the library has none that can be looked through. */
KYMO_SIGNAL_SAFE int kymo_symbol_table_init(struct kymo_symbol_table *table,
                                            const struct link_map *library);

/* The function of that name, in its default version; 0: there is none. What chooses itself at run
 * time (an ifunc) is asked for its choice. */
KYMO_SIGNAL_SAFE uint64_t kymo_symbol_table_find(const struct kymo_symbol_table *table,
                                                 const char *name);

#endif
