/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - the beginning and the end of a thread that is captured.
 *
 * Layer:    capture
 * Flow:     hooks.c, on_signal.c, start/ -> [thread] -> slot in the session
 * Threads:  each call is about the calling thread, except kymo_thread_claim and _unclaim
 * Signals:  claim, begin and adopt are safe; end is for the thread's own exit
 */
#ifndef KYMO_CAPTURE_THREAD_H
#define KYMO_CAPTURE_THREAD_H

#include "capture/state.h"

/* A free kymo_thread with its slot; NULL (counted) when all are in use. */
KYMO_SIGNAL_SAFE struct kymo_capture_thread *kymo_thread_claim(
    struct kymo_capture_process *process);
/* Gives back what was claimed and never begun. */
KYMO_SIGNAL_SAFE void kymo_thread_unclaim(struct kymo_capture_process *process,
                                          struct kymo_capture_thread *thread);
/* The calling thread is this one from now on. flags: enum kymo_slot_flags. Arms a timer if the
 * engine is the timer, else lets the recorder know that it should arm perf. */
KYMO_SIGNAL_SAFE void kymo_thread_begin(struct kymo_capture_process *process,
                                        struct kymo_capture_thread *thread,
                                        struct kymo_stack_bounds stack, uint32_t flags);
/* claim and begin for a thread that no hook announced; its stack's bounds are not known. */
KYMO_SIGNAL_SAFE void kymo_thread_adopt(struct kymo_capture_process *process);
/* The bounds of the calling thread's stack, which was adopted without. Not for handlers. */
void kymo_thread_know_stack(struct kymo_capture_thread *thread, struct kymo_stack_bounds stack);
/* What sigaltstack was told on the calling thread, whether or not that thread is known to us. 0
 * bytes: there is none. */
void kymo_thread_know_alternate(uint64_t lo, uint64_t bytes);
/* The thread is about to end: disarms, says how much CPU time it used, gives the slot up. */
void kymo_thread_end(struct kymo_capture_thread *thread);

#endif
