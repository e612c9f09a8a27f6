/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_table.h - the allocations that were drawn and live, by their addresses.
 *
 * Layer:    capture
 * Flow:     alloc.c -> [table], which keeps the filter of alloc.h
 * Threads:  any number at once, without locks; only the owner of an allocation adds or removes it
 * Memory:   256 KiB of .bss, and more levels as they are needed, up to 1.1 GiB; never given back. A
 *           forked child has its copy, without what another thread was just adding at the fork.
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_ALLOC_TABLE_H
#define KYMO_CAPTURE_ALLOC_TABLE_H

#include <stdint.h>

#include "base/attr.h"

/* address: not 0, and not in the table; id: not 0. may_map: system calls may be made. 0: there is
 * no room. */
KYMO_SIGNAL_SAFE int kymo_alloc_table_put(uint64_t address, uint64_t id, int may_map);

/* It will be put soon: its place in the first level is fetched meanwhile. */
KYMO_SIGNAL_SAFE void kymo_alloc_table_fetch(uint64_t address);

/* Its id and where it is; 0: it is not there. */
struct kymo_alloc_slot;
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_table_find(uint64_t address, struct kymo_alloc_slot **slot);
/* Takes out what was found. The caller of find need not wait for the table's memory before this
 * call. */
KYMO_SIGNAL_SAFE void kymo_alloc_table_remove(uint64_t address, struct kymo_alloc_slot *slot);

/* Both: its id, 0: it was not there. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_alloc_table_take(uint64_t address)
{
    struct kymo_alloc_slot *slot;
    uint64_t id = kymo_alloc_table_find(address, &slot);
    if (id)
        kymo_alloc_table_remove(address, slot);
    return id;
}

/* Walks over all allocations that are there from first to last; begins at zeros. */
struct kymo_alloc_cursor {
    uint32_t level, slot;
};
/* The next one within so many slots, which are counted down: 1; 0: none is there, and the cursor
 * has moved on; -1: the end. */
KYMO_SIGNAL_SAFE int kymo_alloc_table_next(struct kymo_alloc_cursor *cursor, uint32_t *slots,
                                           uint64_t *address, uint64_t *id);

/* Where level n of the table lies; 0 bytes: it was not needed yet, or there is no such level. */
#define KYMO_ALLOC_LEVELS 4u
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_table_level(uint32_t level, uint64_t *bytes);
/* How many there are. */
KYMO_SIGNAL_SAFE uint32_t kymo_alloc_table_levels(void);

#endif
