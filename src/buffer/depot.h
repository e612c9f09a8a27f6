/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depot.h - interns stacks without locks: equal stacks are stored once and have one id.
 *
 * Layer:    buffer
 * Flow:     on_signal.c -> [depot] -> drain.c, which turns ids into lists of frames
 * Threads:  any number of writers; the recorder reads, and rotates
 * Memory:   two fixed areas of the session; stacks are appended, never changed
 * Signals:  kymo_depot_intern is safe
 *
 * Two depots alternate. Ids carry the epoch in which they were made; when the recorder has a
 * depot that fills, it moves the epoch on, waits until no handler is inside the old one
 * (both pins of each thread's slot), drains the records that refer to it, and clears it.
 */
#ifndef KYMO_BUFFER_DEPOT_H
#define KYMO_BUFFER_DEPOT_H

#include <stdint.h>

#include "base/attr.h"
#include "buffer/session.h"

static inline uint32_t kymo_depot_id_epoch(uint32_t id)
{
    return id >> 24;
}

static inline uint32_t kymo_depot_id_word(uint32_t id)
{
    return id & 0xffffff;
}

/* The two areas: head, buckets, arena. which is epoch & 1. */
struct kymo_depot {
    struct kymo_depot_head *head;
    uint32_t *buckets;
    uint64_t *arena;
    uint32_t slots;
    uint32_t words;
};
struct kymo_depot kymo_depot_at(struct kymo_session *session, const struct kymo_session_plan *plan,
                                uint32_t which);

/* One stack, as the handler has it. */
struct kymo_stack_key {
    const uint64_t *pcs; /* leaf first */
    uint32_t n;
    uint32_t generation; /* of the modules */
    uint32_t flags;      /* KYMO_STACK_* */
};

/* The id of a stack that is stored already, 0 if it is not. find and insert are to be called
 * between kymo_depot_enter and kymo_depot_leave only. */
KYMO_SIGNAL_SAFE uint32_t kymo_depot_find(struct kymo_session *session,
                                          const struct kymo_session_plan *plan, uint32_t epoch,
                                          const struct kymo_stack_key *key);

/* Stores a stack and returns its id; the id of an equal one that came first; 0 when the depot is
 * full. What the recorder needs to read the stack (its modules) must be published before. */
KYMO_SIGNAL_SAFE uint32_t kymo_depot_insert(struct kymo_session *session,
                                            const struct kymo_session_plan *plan, uint32_t epoch,
                                            const struct kymo_stack_key *key);

/* Pins the current epoch by one of a slot's pins and returns it. */
KYMO_SIGNAL_SAFE uint32_t kymo_depot_pin(const struct kymo_session *session, uint32_t *pin);
KYMO_SIGNAL_SAFE void kymo_depot_unpin(uint32_t *pin);

/* The same by that of the thread's handler. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_depot_enter(const struct kymo_session *session,
                                                         struct kymo_thread_slot *slot)
{
    return kymo_depot_pin(session, &slot->depot_pin);
}

KYMO_SIGNAL_SAFE static inline void kymo_depot_leave(struct kymo_thread_slot *slot)
{
    kymo_depot_unpin(&slot->depot_pin);
}

#endif
