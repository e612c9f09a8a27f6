/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_heap.h - what an ingest knows of memory between two events.
 *
 * Layer:    profile
 * Flow:     ingest_heap.c (blocks), ingest_mappings.c, ingest_memory.c (the rest)
 *           -> ingest_finish.c
 * Threads:  the ingest's
 * Memory:   vectors; kymo_ingest_heap_deinit frees them
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_INGEST_HEAP_H
#define KYMO_PROFILE_INGEST_HEAP_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "kymo/profile.h"
#include "profile/ingest.h"
#include "profile/ingest_thin.h"
#include "recording/events.h"

/* Of a row of allocations. */
struct kymo_ingest_block {
    uint64_t id;
    uint32_t last; /* of the first row of its id: the one that it is now */
    uint32_t reserved;
};

/* A process's. */
struct kymo_ingest_memory {
    KYMO_VEC(struct kymo_ingest_block) blocks; /* by row */
    kymo_index block_index;                    /* first rows, by id */
    /* What waits until all of the process is there, in the order in which it came. */
    KYMO_VEC(kymo_event_resize) resizes;
    KYMO_VEC(kymo_event_free) frees; /* whose block was not there yet */
    KYMO_VEC(kymo_event_inherit) inherits;
    KYMO_VEC(kymo_event_mapping) mappings;
    KYMO_VEC(kymo_ledger) ledger; /* as they came */
    kymo_heap heap;               /* size 0: nothing was said */
    uint64_t rate;                /* the largest of its blocks; 0: none */
    size_t forgotten_at;          /* of thinning: how many waited when that was looked at last */
    uint32_t parent; /* of thinning: 0: not looked for yet, 1: none, else its number + 2 */
};

struct kymo_ingest_heap {
    KYMO_VEC(struct kymo_ingest_memory) processes; /* short where the last have no memory */
    uint64_t waiting;                              /* events of all processes */
    struct kymo_ingest_thin thin;
};

void kymo_ingest_heap_deinit(struct kymo_ingest_heap *heap);

/* ingest_memory.c: that of a thread's process, or of a process that there is. */
KYMO_NODISCARD
kymo_err kymo_ingest_memory_of(kymo_ingest *in, uint32_t process,
                               struct kymo_ingest_memory **memory);

/* Counts an event that is kept; KYMO_E_TOO_BIG: no more of them. */
KYMO_NODISCARD
kymo_err kymo_ingest_keep_waiting(kymo_ingest *in);

/* For finish: the rows of all that waited. Labels come after it. */
KYMO_NODISCARD
kymo_err kymo_ingest_join_blocks(kymo_ingest *in);
KYMO_NODISCARD
kymo_err kymo_ingest_join_mappings(kymo_ingest *in);
KYMO_NODISCARD
kymo_err kymo_ingest_finish_memory(kymo_ingest *in);

#endif
