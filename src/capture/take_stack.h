/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take_stack.h - walks the calling thread's stack into the depot.
 *
 * Layer:    capture
 * Flow:     on_signal.c, mark_stack.c, alloc.c -> [take] -> unwind/, buffer/depot.h
 * Threads:  the calling one, which uses each place once at a time
 * Memory:   the place's pcs; the depot
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_TAKE_STACK_H
#define KYMO_CAPTURE_TAKE_STACK_H

#include "capture/state.h"

/* Where a stack is laid out on its way into the depot. */
struct kymo_walk_place {
    uint64_t *pcs; /* process->depth of them */
    struct kymo_regs *regs;
    uint32_t *pin; /* of the thread's slot */
};

/* The stack from place->regs on, which are overwritten; its id, 0 if there was no room (counted).
 * The depot is pinned from here on: kymo_depot_unpin, once a record that has the id is published.
 * callers (may be NULL) gets a hash of all its frames but the innermost. */
KYMO_SIGNAL_SAFE uint32_t kymo_stack_take_at(struct kymo_capture_process *process,
                                             struct kymo_capture_thread *thread,
                                             const struct kymo_walk_place *place,
                                             uint64_t *callers);

/* The same, quicker where it is the stack that the caller's caller, which returns to `caller`, had
 * before. */
KYMO_SIGNAL_SAFE uint32_t kymo_stack_take_again(struct kymo_capture_process *process,
                                                struct kymo_capture_thread *thread,
                                                const struct kymo_walk_place *place,
                                                uint64_t caller);

/* The same of a stack of which no more is known than where it returns to. */
KYMO_SIGNAL_SAFE uint32_t kymo_stack_take_caller(struct kymo_capture_process *process,
                                                 const struct kymo_walk_place *place,
                                                 uint64_t caller);

/* As kymo_stack_take_at, at the handler's place, with all signals blocked: from thread->regs on,
 * and until kymo_depot_leave. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_stack_take(struct kymo_capture_process *process,
                                                        struct kymo_capture_thread *thread,
                                                        uint64_t *callers)
{
    struct kymo_walk_place place = {thread->pcs, &thread->regs, &thread->slot->depot_pin};
    return kymo_stack_take_at(process, thread, &place, callers);
}

#endif
