/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - which of a thread's two streams one may write to, now.
 *
 * Layer:    capture
 * Flow:     mark*.c, on_signal.c -> [claim] -> buffer/stream.h
 * Threads:  the calling one's streams
 * Signals:  safe; this is what makes them so
 *
 * A record may be interrupted by a signal whose handler makes records of its own, and that handler
 * by ours. Each writer claims a stream for as long as its record is not whole, and takes the other
 * one if the first is claimed. When both are, two records are unfinished below us: ours is dropped,
 * and counted.
 *
 * A claim is a stack address: where the frame of the function that the program called begins, or
 * where the signal interrupted. A claim is void if siglongjmp has left that function. The next
 * writer sees this in one of two ways. It was called from the claim's address or further up on the
 * same stack. Or it is on the thread's own stack and the claim is on another one: a handler there
 * would keep the thread from running here. An alternate stack may be an array on the thread's own
 * stack; addresses in it do not count as the thread's own stack. From two addresses on unknown
 * stacks nothing is concluded: two functions that were left there claim both streams until the
 * thread ends.
 */
#ifndef KYMO_CAPTURE_CLAIM_H
#define KYMO_CAPTURE_CLAIM_H

#include "base/atomic.h"
#include "base/attr.h"
#include "capture/state.h"

/* Where the frame of this function begins: the stack pointer of its caller. */
#define KYMO_FRAME_BEGIN() ((uint64_t)(uintptr_t)__builtin_dwarf_cfa())

/* Whether the thread itself, and no handler on a stack of its own, has a frame there. */
KYMO_SIGNAL_SAFE static inline int kymo_stack_is_own(const struct kymo_capture_thread *t,
                                                     uint64_t at)
{
    return at - t->stack.lo < t->stack.hi - t->stack.lo &&
           at - kymo_load_relaxed(&t->alternate.lo) >= kymo_load_relaxed(&t->alternate.bytes);
}

KYMO_SIGNAL_SAFE static inline int kymo_claim_is_void(const struct kymo_capture_thread *t,
                                                      uint64_t claim, uint64_t here)
{
    return kymo_stack_is_own(t, here) && (!kymo_stack_is_own(t, claim) || claim <= here);
}

/* The stream of this kind, or the other one; NULL if both are claimed. */
KYMO_SIGNAL_SAFE static inline struct kymo_stream_writer *kymo_claim(struct kymo_capture_thread *t,
                                                                     enum kymo_stream_kind kind,
                                                                     uint64_t here)
{
    struct kymo_stream_writer *w = &t->streams[kind];
    if (kymo_unlikely(w->claim) && !kymo_claim_is_void(t, w->claim, here)) {
        w = &t->streams[!kind];
        if (w->claim && !kymo_claim_is_void(t, w->claim, here))
            return NULL;
    }
    kymo_store_relaxed(&w->claim, here);
    /* Before anything of the record: a handler that comes from here on sees the claim. */
    kymo_signal_fence();
    return w;
}

KYMO_SIGNAL_SAFE KYMO_INLINE void kymo_claim_end(struct kymo_stream_writer *w)
{
    kymo_signal_fence();
    kymo_store_relaxed(&w->claim, 0u);
}

#endif
