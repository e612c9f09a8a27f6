/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_heap.h - state of an ingest: what is known of memory between two events.
 *
 * Layer:    profile
 * Flow:     ingest_heap.c (allocations), ingest_mappings.c, ingest_memory.c (the rest)
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

/* For one row of the table of allocations. */
struct kymo_ingest_block {
    uint64_t id;
    uint32_t last; /* for the first row of an id: the current row of that id */
    uint32_t reserved;
};

/* For one process. */
struct kymo_ingest_memory {
    KYMO_VEC(struct kymo_ingest_block) blocks; /* by row */
    kymo_index block_index;                    /* first rows, by id */
    /* Events that wait until all of the process has been read, in order of arrival. */
    KYMO_VEC(kymo_event_resize) resizes;
    KYMO_VEC(kymo_event_free) frees; /* those whose allocation was not yet known */
    KYMO_VEC(kymo_event_inherit) inherits;
    KYMO_VEC(kymo_event_mapping) mappings;
    KYMO_VEC(kymo_ledger) ledger; /* in order of arrival */
    kymo_heap heap;               /* size 0: not recorded */
    uint64_t rate;                /* the largest sampling rate of its allocations; 0: none */
    size_t forgotten_at;          /* of thinning: how many events waited when old ones were last
                                   * dropped */
    uint32_t parent; /* of thinning: 0: not looked for yet, 1: no parent, else the parent's
                      * number + 2 */
};

struct kymo_ingest_heap {
    KYMO_VEC(struct kymo_ingest_memory)
    processes;        /* short if the last processes have no memory
                       * events */
    uint64_t waiting; /* events that wait, of all processes */
    struct kymo_ingest_thin thin;
};

void kymo_ingest_heap_deinit(struct kymo_ingest_heap *heap);

/* ingest_memory.c: the memory state of a process; adds it if needed. */
KYMO_NODISCARD
kymo_err kymo_ingest_memory_of(kymo_ingest *in, uint32_t process,
                               struct kymo_ingest_memory **memory);

/* Counts an event that is kept for later; KYMO_E_TOO_BIG: too many. */
KYMO_NODISCARD
kymo_err kymo_ingest_keep_waiting(kymo_ingest *in);

/* For finish: makes the rows of all events that waited. Labels are joined after this. */
KYMO_NODISCARD
kymo_err kymo_ingest_join_blocks(kymo_ingest *in);
KYMO_NODISCARD
kymo_err kymo_ingest_join_mappings(kymo_ingest *in);
KYMO_NODISCARD
kymo_err kymo_ingest_finish_memory(kymo_ingest *in);

#endif
