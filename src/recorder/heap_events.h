/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_events.h - turns the allocations and mappings of a session into the events of a recording.
 *
 * Layer:    recorder
 * Flow:     buffer/drain.c -> session_events.c -> [heap_events] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   none of its own
 * Signals:  not for handlers
 *
 * What gives memory past every function that is known is told by the balance: far more of its own
 * is resident than it was ever seen to ask for.
 *
 * Every record becomes an event: what a free ends, and what that amounts to, is for the reader to
 * find, who has all of it before him.
 */
#ifndef KYMO_RECORDER_HEAP_EVENTS_H
#define KYMO_RECORDER_HEAP_EVENTS_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/drain_heap.h"
#include "buffer/session.h"
#include "observe/unseen.h"

/* Mappings of fewer bytes are not recorded: the allocators' own begin there. */
#define KYMO_HEAP_EVENTS_MAP_LEAST (64u << 10)

#define KYMO_HEAP_EVENTS_TEXT 512u /* bytes */

struct kymo_session_events;

/* How a process's memory is recorded. */
struct kymo_heap_events {
    uint64_t rate; /* mean bytes between two draws; 0: its memory is not recorded */
    struct kymo_drain_heap_totals told;
    int is_told;
    int was_off;                            /* for a while; what the process has may be from then */
    uint32_t allocator;                     /* as it was told */
    uint64_t own_bytes;                     /* of its memory, resident: kymo_ledger_own_bytes */
    uint64_t mapped_bytes;                  /* that the program mapped itself, so far */
    uint32_t missing_mib, told_missing_mib; /* resident, and no hook saw its allocation */
    uint32_t not_seen_len, told_len;
    char not_seen[KYMO_HEAP_EVENTS_TEXT]; /* modules that allocate past us */
};

/* Its context is a struct kymo_session_events. */
extern const struct kymo_drain_heap_sink kymo_heap_events_sink;

/* A module of the process: whether it allocates past us. */
void kymo_heap_events_module(struct kymo_heap_events *heap, kymo_unseen *unseen, const char *path);
/* What is known of the process's memory as a whole, if that has changed. */
KYMO_NODISCARD
kymo_err kymo_heap_events_tell(struct kymo_session_events *to, const kymo_drain *drain,
                               const struct kymo_session *session);

#endif
