/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_early.h - blocks that were given before the process was recorded, by its loader and by the
 * constructors of other libraries.
 *
 * Layer:    capture
 * Flow:     alloc.c -> [early] -> alloc.c, once there is a recorder
 * Threads:  any
 * Memory:   48 KiB of .bss
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_ALLOC_EARLY_H
#define KYMO_CAPTURE_ALLOC_EARLY_H

#include <stdint.h>

#include "base/attr.h"

#define KYMO_ALLOC_EARLY_BLOCKS 2048u

struct kymo_alloc_early {
    uint64_t address; /* 0: given back, or told */
    uint64_t bytes;
    uint64_t caller; /* where the call returns to */
};

/* Notes a block, which is in the table under its id from here on; ids are from 1 to
 * KYMO_ALLOC_EARLY_BLOCKS, as of no session. 0: there is no room (counted). */
KYMO_SIGNAL_SAFE int kymo_alloc_early_note(uint64_t address, uint64_t bytes, uint64_t caller);

/* It is given back. */
KYMO_SIGNAL_SAFE void kymo_alloc_early_end(uint64_t id);

/* Takes the one of that id, once; 0: it is none that lives. */
KYMO_SIGNAL_SAFE int kymo_alloc_early_take(uint64_t id, struct kymo_alloc_early *block);

/* How many were not noted; none, from here on. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_early_lost(void);

#endif
