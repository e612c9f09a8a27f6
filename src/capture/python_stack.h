/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_stack.h - Python frames in the place of the evaluator's native ones.
 *
 * Layer:    capture
 * Flow:     take_stack.c (a native stack) -> [merge] -> the depot; python_code.c -> code area
 * Threads:  each merges its own stack
 * Memory:   a mapping of its own, made where the process has an interpreter
 * Signals:  kymo_python_find is for the start; the rest is safe
 */
#ifndef KYMO_CAPTURE_PYTHON_STACK_H
#define KYMO_CAPTURE_PYTHON_STACK_H

#include "capture/state.h"
#include "capture/take_stack.h"

/* python_find.c: looks for a CPython among what is loaded, and makes places for so many threads.
 * process->python stays NULL where there is none that can be read. */
void kymo_python_find(struct kymo_capture_process *process, uint32_t threads, uint32_t depth);
/* Writes what was found into a session. */
void kymo_python_tell(const struct kymo_capture_process *process, struct kymo_session *session);

/* Where a thread's stack is merged; process->depth stack pointers and as many words follow. */
struct kymo_python_place {
    struct kymo_python_pages pages;
    struct kymo_python_stack stack;
};

/* Bytes of a place, for stacks of this depth. */
static inline size_t kymo_python_place_bytes(uint32_t depth)
{
    return (sizeof(struct kymo_python_place) + (size_t)depth * 2 * sizeof(uint64_t) + 63) &
           ~(size_t)63;
}

/* The thread's place: of its handler, or of its allocations. */
KYMO_SIGNAL_SAFE static inline struct kymo_python_place *kymo_python_place_of(
    const struct kymo_capture_process *p, const struct kymo_capture_thread *t,
    const struct kymo_walk_place *place)
{
    size_t number = (size_t)t->number * 2 + (place->pcs == t->alloc_pcs);
    return (struct kymo_python_place *)(void *)(p->python_places +
                                                number * kymo_python_place_bytes(p->depth));
}

KYMO_SIGNAL_SAFE static inline uint64_t *kymo_python_sps(struct kymo_python_place *place)
{
    return (uint64_t *)(void *)(place + 1);
}

/* Puts the Python frames of the calling thread into its native stack, of n frames with the place's
 * stack pointers. Returns the new number of frames, at most process->depth. */
KYMO_SIGNAL_SAFE uint32_t kymo_python_merge(struct kymo_capture_process *process,
                                            const struct kymo_capture_thread *thread,
                                            struct kymo_python_place *place, uint64_t *pcs,
                                            uint32_t n, int is_complete);

/* python_code.c: the number of a code object in the code area, copied there on first sight; 0: it
 * could not be (counted). *is_hidden: it is one that is not shown. */
KYMO_SIGNAL_SAFE uint32_t kymo_python_code(struct kymo_capture_process *process,
                                           struct kymo_python_pages *pages, uint64_t code,
                                           int *is_hidden);

#endif
