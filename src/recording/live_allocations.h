/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_allocations.h - the table of live allocations of one process, during recording.
 *
 * Layer:    recording
 * Flow:     recording_kept.c (events of a process's threads) -> [live_allocations]
 *           -> the next segment
 * Threads:  the writer's
 * Memory:   some 120 bytes for each live allocation, at most KYMO_LIVE_ALLOCATIONS_MAX of them
 * Signals:  not for handlers
 *
 * Events of one thread come in order, those of several threads do not: a free or resize may come
 * before its allocation. Some orders cannot be corrected without earlier events. Then the table is
 * marked as not exact, permanently.
 */
#ifndef KYMO_RECORDING_LIVE_ALLOCATIONS_H
#define KYMO_RECORDING_LIVE_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/key_map.h"
#include "base/vec.h"
#include "recording/events_heap.h"

#define KYMO_LIVE_ALLOCATIONS_MAX (1u << 20)
#define KYMO_LIVE_FREED_MAX 1024u /* entries of each list of recent frees */

/* Labels and their texts in one piece of memory. */
struct kymo_live_labels {
    uint32_t count;
    uint32_t reserved;
    kymo_event_live_label labels[];
};

enum kymo_live_state {
    KYMO_LIVE_UNUSED,  /* free entry of the table */
    KYMO_LIVE_HERE,    /* live */
    KYMO_LIVE_RESIZED, /* live; its resize was read, its allocation not yet */
    KYMO_LIVE_FREED,   /* its free was read, its allocation not yet */
    KYMO_LIVE_ENDED,   /* it was live and was freed; a resize by another thread may still come */
};

struct kymo_live_allocation {
    uint64_t id;
    uint64_t address, bytes;
    uint64_t birth_ns, time_ns;
    double weight;
    uint64_t grown; /* if resized: by how many bytes; if unused: the next unused entry */
    uint32_t thread, stack, stack_process;
    uint32_t slack;
    uint16_t family;
    uint8_t state; /* enum kymo_live_state */
    uint8_t is_inherited;
    struct kymo_live_labels *labels; /* NULL: none */
};

struct kymo_live_free {
    uint64_t id, time_ns;
};

/* The allocations that were freed last. */
struct kymo_live_freed {
    KYMO_VEC(struct kymo_live_free) ring;
    uint32_t oldest;     /* index of the oldest, if full */
    uint64_t dropped_ns; /* time of the latest free that was dropped from it */
};

/* All zero is a valid empty table; set process. */
struct kymo_live_allocations {
    uint32_t process; /* their owner */
    KYMO_VEC(struct kymo_live_allocation) places;
    kymo_key_map by_id;                  /* places */
    uint32_t unused;                     /* index of the first unused entry + 1; 0: none */
    struct kymo_live_freed freed, ended; /* entries with these states */
    int is_inexact;
};

void kymo_live_allocations_deinit(struct kymo_live_allocations *t);
/* Drops all entries for good: the table is not exact from then on. */
void kymo_live_allocations_give_up(struct kymo_live_allocations *t);

/* Adds an allocation. Takes ownership of labels, even after an error (KYMO_E_NOMEM). */
KYMO_NODISCARD
kymo_err kymo_live_allocations_add(struct kymo_live_allocations *t, const kymo_event_allocation *e,
                                   struct kymo_live_labels *labels);
KYMO_NODISCARD
kymo_err kymo_live_allocations_free(struct kymo_live_allocations *t, const kymo_event_free *e);
/* labels: as above; it gets them if it grew. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_resize(struct kymo_live_allocations *t, const kymo_event_resize *e,
                                      struct kymo_live_labels *labels);
/* Adds an inherited allocation; parent NULL: its process is not known. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_inherit(struct kymo_live_allocations *t,
                                       const struct kymo_live_allocations *parent,
                                       const kymo_event_inherit *e, uint64_t fork_ns);

static inline int kymo_live_allocation_lives(const struct kymo_live_allocation *b)
{
    return b->state == KYMO_LIVE_HERE || b->state == KYMO_LIVE_RESIZED;
}
/* NULL: not in the table. Valid until the table changes. */
const struct kymo_live_allocation *kymo_live_allocations_find(const struct kymo_live_allocations *t,
                                                              uint64_t id);

#endif
