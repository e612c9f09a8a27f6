/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_words.h - asks the program's allocator what it says of itself, when the recorder wants it.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     alloc.c -> [alloc_words] -> buffer/allocator_words.h
 * Threads:  any; who takes a question answers it
 * Memory:   the session's header
 * Signals:  reached from malloc, so from handlers, which are turned away
 *
 * mallinfo2 and the like take the allocator's locks, those of all its arenas. So they are called
 * only where the program itself has just called malloc, after the allocator has returned: a thread
 * that may call malloc there may call them. There are exceptions:
 *  - In a process of one thread, a handler that interrupts malloc may call malloc and mostly
 *    survives; with these functions it would not: not with a signal's frame on the stack, nor on a
 *    stack that is not the thread's own.
 *  - An allocator may call malloc itself, in some other library's code and with a lock held, as
 *    jemalloc does when it makes a thread: not with a frame of the allocator on the stack, nor
 * where the stack is not known to its end.
 *  - Not behind a seccomp filter, and not in a child of _Fork: its parent's threads may have held
 *    any of the locks.
 */
#ifndef KYMO_CAPTURE_ALLOC_WORDS_H
#define KYMO_CAPTURE_ALLOC_WORDS_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "capture/state.h"

/* The functions of the library that malloc is in, by enum kymo_allocator; 0: it has none. Set once,
 * before the start. */
struct kymo_alloc_words_from {
    uint32_t allocator;
    uint64_t function;
};
extern struct kymo_alloc_words_from kymo_alloc_words_from;

/* Whether a question waits. */
KYMO_SIGNAL_SAFE static inline int kymo_alloc_words_wait(const struct kymo_session *s)
{
    return kymo_load_relaxed(&s->allocator_wanted) != kymo_load_relaxed(&s->allocator_words.taken);
}

/* Whether the calling thread may ask: with nothing of its own begun and not ended. here: where the
 * frame of the hook begins; stack: of the allocation, in the depot that is still pinned. */
KYMO_SIGNAL_SAFE int kymo_alloc_words_may(const struct kymo_capture_thread *thread, uint64_t here,
                                          uint32_t stack);

/* Asks, and writes down what is said. Keeps errno. */
KYMO_SIGNAL_SAFE void kymo_alloc_words_answer(struct kymo_capture_process *process);

#endif
