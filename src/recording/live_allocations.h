/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_allocations.h - the table of live allocations of one process, during recording.
 *
 * Layer:    recording
 * Flow:     recording_kept.c (events of a process's threads) -> [live_allocations]
 *           -> the next segment
 * Threads:  the writer's
 * Memory:   some 100 bytes for each live allocation, at most KYMO_LIVE_ALLOCATIONS_MAX of them,
 *           and as many for each event that waits, at most KYMO_LIVE_WAITING_MAX of them
 * Signals:  not for handlers
 *
 * Events of one thread come in order, those of several threads do not: a free may come before its
 * allocation. So events wait until all that was recorded before them has come, which the recorder
 * says once a lap over all threads is read.
 */
#ifndef KYMO_RECORDING_LIVE_ALLOCATIONS_H
#define KYMO_RECORDING_LIVE_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/key_map.h"
#include "base/vec.h"
#include "recording/events_heap.h"

#define KYMO_LIVE_ALLOCATIONS_MAX (1u << 20)
#define KYMO_LIVE_WAITING_MAX (1u << 18)

/* Labels and their texts in one piece of memory. */
struct kymo_live_labels {
    uint32_t count;
    uint32_t users; /* that will release it: 1 when it is made */
    kymo_event_live_label labels[];
};

struct kymo_live_allocation {
    uint64_t id;
    uint64_t address, bytes;
    uint64_t birth_ns, time_ns;
    double weight;
    uint32_t thread, stack, stack_process;
    uint32_t slack;
    uint32_t next_unused; /* of an unused entry: the index of the next one + 1 */
    uint16_t family;
    uint8_t is_live;
    uint8_t is_inherited;
    struct kymo_live_labels *labels; /* NULL: none */
};

/* In the order in which events of an allocation take effect. */
enum kymo_live_kind { KYMO_LIVE_ALLOCATION, KYMO_LIVE_RESIZE, KYMO_LIVE_FREE };

struct kymo_live_event {
    kymo_event_resize e; /* of an allocation `now`; of a free its id and time */
    struct kymo_live_labels *labels;
    enum kymo_live_kind kind;
};

/* All zero is a valid empty table; set process. */
struct kymo_live_allocations {
    uint32_t process; /* their owner */
    KYMO_VEC(struct kymo_live_allocation) places;
    kymo_key_map by_id; /* places */
    uint32_t unused;    /* index of the first unused entry + 1; 0: none */
    KYMO_VEC(struct kymo_live_event) waiting;
    uint64_t read_ns; /* all events up to this time have come */
    uint64_t missing; /* live allocations that are not in the table */
    int is_off;       /* nothing is kept */
    int lacks_labels; /* some labels are not known */
};

void kymo_live_allocations_deinit(struct kymo_live_allocations *t);
/* Drops all entries, and keeps none from then on. */
void kymo_live_allocations_give_up(struct kymo_live_allocations *t);

/* Events, which wait. Takes ownership of labels, even after an error (KYMO_E_NOMEM); an allocation
 * that is resized gets them if it grew. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_add(struct kymo_live_allocations *t, const kymo_event_allocation *e,
                                   struct kymo_live_labels *labels);
KYMO_NODISCARD
kymo_err kymo_live_allocations_resize(struct kymo_live_allocations *t, const kymo_event_resize *e,
                                      struct kymo_live_labels *labels);
KYMO_NODISCARD
kymo_err kymo_live_allocations_free(struct kymo_live_allocations *t, const kymo_event_free *e);
/* Adds an inherited allocation at once; parent NULL: its process is not known. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_inherit(struct kymo_live_allocations *t,
                                       struct kymo_live_allocations *parent,
                                       const kymo_event_inherit *e, uint64_t fork_ns);

/* All events up to this time have come, and take effect. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_settle(struct kymo_live_allocations *t, uint64_t read_ns);
/* Calls put for each allocation that lives after all events that have come, as far as is known: an
 * event whose allocation is still to come has no effect. The events go on waiting, since others
 * that come later may be older. Stops at put's first error. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_list(struct kymo_live_allocations *t,
                                    kymo_err (*put)(void *context,
                                                    const struct kymo_live_allocation *b),
                                    void *context);

/* Adds the stacks of this process that allocations of the table have. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_live_allocations_use_stacks(const struct kymo_live_allocations *t, uint32_t process,
                                          kymo_key_map *used);

/* NULL: not in the table. Valid until the table changes. */
const struct kymo_live_allocation *kymo_live_allocations_find(const struct kymo_live_allocations *t,
                                                              uint64_t id);

#endif
