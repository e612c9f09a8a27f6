/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_stack.h - a thread's place for the stacks of allocations.
 *
 * Layer:    capture
 * Flow:     alloc.c, alloc_map.c -> [alloc_stack] -> take_stack.h
 * Threads:  the calling one
 * Signals:  safe
 *
 * Stacks are taken with signals open: blocking them takes longer than all the rest. So a handler of
 * the program's may allocate in the middle of it. It finds the place taken, and its own allocation
 * is not recorded, and counted; what it gives back is. One that leaves by siglongjmp leaves the
 * place taken: a claim, as on a stream (claim.h), that the next one finds void.
 */
#ifndef KYMO_CAPTURE_ALLOC_STACK_H
#define KYMO_CAPTURE_ALLOC_STACK_H

#include "arch/context.h"
#include "buffer/depot.h"
#include "capture/claim.h"
#include "capture/take_stack.h"

/* 0: a function below us on the stack has entered and not left (counted). */
KYMO_SIGNAL_SAFE static inline int kymo_alloc_enter(struct kymo_capture_thread *t, uint64_t here)
{
    if (kymo_unlikely(t->alloc_frame) && !kymo_claim_is_void(t, t->alloc_frame, here)) {
        kymo_count_loss(t->process, KYMO_LOSS_ALLOC_BUSY);
        return 0;
    }
    kymo_store_relaxed(&t->alloc_frame, here);
    kymo_signal_fence();
    return 1;
}

/* Once the record that has the stack is published. */
KYMO_SIGNAL_SAFE static inline void kymo_alloc_leave(struct kymo_capture_thread *t)
{
    kymo_depot_unpin(&t->slot->alloc_pin);
    kymo_signal_fence();
    kymo_store_relaxed(&t->alloc_frame, 0u);
}

/* A handler of ours interrupted the thread at `here`. If siglongjmp has left the hook that had
 * entered, this leaves in its place: no thread is to wait for its pin. */
KYMO_SIGNAL_SAFE static inline void kymo_alloc_tidy(struct kymo_capture_thread *t, uint64_t here)
{
    uint64_t claim = kymo_load_relaxed(&t->alloc_frame);
    if (kymo_unlikely(claim) && kymo_claim_is_void(t, claim, here))
        kymo_alloc_leave(t);
}

KYMO_SIGNAL_SAFE static inline struct kymo_walk_place kymo_alloc_place(
    struct kymo_capture_thread *t)
{
    return (struct kymo_walk_place){t->alloc_pcs, &t->alloc_regs, &t->slot->alloc_pin};
}

/* Entered. The stack begins in the calling function, which is ours; 0: there is no room for it.
 * here: where the frame of our hook begins. */
KYMO_SIGNAL_SAFE KYMO_INLINE uint32_t kymo_alloc_stack(struct kymo_capture_thread *t, uint64_t here)
{
    struct kymo_walk_place place = kymo_alloc_place(t);
    kymo_regs_here(&t->alloc_regs);
    /* Above the frame lies where the call returns to. */
    return kymo_stack_take_again(t->process, t, &place, ((const uint64_t *)(uintptr_t)here)[-1]);
}

#endif
