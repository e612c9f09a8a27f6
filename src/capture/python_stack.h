/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_stack.h - Python frames in the place of the evaluator's native ones.
 *
 * Layer:    capture
 * Flow:     take_stack.c (a native stack) -> [merge] -> the depot; python_code.c -> code area
 * Threads:  each merges its own stack
 * Memory:   places behind the process's state, where it has an interpreter
 * Signals:  kymo_python_find is for the start; the rest is safe
 */
#ifndef KYMO_CAPTURE_PYTHON_STACK_H
#define KYMO_CAPTURE_PYTHON_STACK_H

#include "buffer/python_task.h"
#include "capture/state.h"
#include "capture/take_stack.h"

/* python_find.c: the CPython among what is loaded; NULL: there is none that can be read. */
struct kymo_python *kymo_python_find(void);
/* Of a forked child: one that was loaded after its parent's start is there, too. */
KYMO_SIGNAL_SAFE void kymo_python_inherit(struct kymo_capture_process *process);
/* Takes the one that the recorder found after the start; its frames are read from now on. */
KYMO_SIGNAL_SAFE void kymo_python_adopt(struct kymo_capture_process *process);
/* Writes what was found into a session. */
void kymo_python_tell(const struct kymo_capture_process *process, struct kymo_session *session);

/* Where a stack is merged; process->depth stack pointers and as many words follow. As many stacks
 * as there are places can be taken at once: more than there are CPUs, and few enough for a program
 * whose address space is limited. */
#define KYMO_PYTHON_PLACES 256u     /* a power of two */
#define KYMO_PYTHON_PLACES_LATE 64u /* of a program that may load one; likewise */
struct kymo_python_place {
    uint32_t owner; /* a thread's number and what it takes a stack for; 0: free */
    struct kymo_python_pages pages;
    struct kymo_python_stack stack;
};

/* Bytes of a place, for stacks of this depth. */
static inline size_t kymo_python_place_bytes(uint32_t depth)
{
    return (sizeof(struct kymo_python_place) + (size_t)depth * 2 * sizeof(uint64_t) + 63) &
           ~(size_t)63;
}

/* A place for the thread's stack, until it is given back; NULL: all that it looks at are in use
 * (counted). */
KYMO_SIGNAL_SAFE struct kymo_python_place *kymo_python_place_take(
    struct kymo_capture_process *process, const struct kymo_capture_thread *thread, int is_alloc);
KYMO_SIGNAL_SAFE static inline void kymo_python_place_give(struct kymo_python_place *place)
{
    kymo_store_release(&place->owner, 0u);
}

KYMO_SIGNAL_SAFE static inline uint64_t *kymo_python_sps(struct kymo_python_place *place)
{
    return (uint64_t *)(void *)(place + 1);
}

/* python_task.c: the label of the task beside a record of so many bytes that has its stack.
 *
 *   room     what the label needs more; 0: there is no task
 *   lead     how much of that lies before the record
 *   around   the record's bytes and the label's
 *   label    writes the label if there is one for a record with this clock, and returns where that
 * goes */
KYMO_SIGNAL_SAFE uint32_t kymo_python_task_room(const struct kymo_python_task *task);
KYMO_SIGNAL_SAFE uint32_t kymo_python_task_lead(const struct kymo_python_task *task);
KYMO_SIGNAL_SAFE void *kymo_python_task_put(const struct kymo_python_task *task, void *at,
                                            uint32_t size_bytes, uint64_t clock);
KYMO_SIGNAL_SAFE static inline uint32_t kymo_python_task_around(const struct kymo_python_task *task,
                                                                uint32_t size_bytes)
{
    return kymo_likely(task->bytes == 0) ? size_bytes : size_bytes + kymo_python_task_room(task);
}
KYMO_SIGNAL_SAFE static inline void *kymo_python_task_label(const struct kymo_python_task *task,
                                                            void *at, uint32_t size_bytes,
                                                            uint64_t clock)
{
    return kymo_likely(task->bytes == 0) ? at : kymo_python_task_put(task, at, size_bytes, clock);
}

/* Puts the Python frames of the calling thread into its native stack, of n frames with the place's
 * stack pointers. Returns the new number of frames, at most process->depth. *end: how the native
 * walk ended, and then how the whole stack does. *task: the thread's; NULL: it is not looked for.
 */
KYMO_SIGNAL_SAFE uint32_t kymo_python_merge(struct kymo_capture_process *process,
                                            struct kymo_python_place *place, uint64_t *pcs,
                                            uint32_t n, enum kymo_walk_end *end,
                                            struct kymo_python_task *task);

/* python_code.c: the number of a code object in the code area, copied there on first sight; 0: it
 * could not be (counted). *is_hidden: it is one that is not shown. */
KYMO_SIGNAL_SAFE uint32_t kymo_python_code(struct kymo_capture_process *process,
                                           struct kymo_python_pages *pages, uint64_t code,
                                           int *is_hidden);

#endif
