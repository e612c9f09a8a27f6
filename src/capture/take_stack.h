/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take_stack.h - walks the calling thread's stack into the depot.
 *
 * Layer:    capture
 * Flow:     on_signal.c, mark_stack.c -> [take] -> unwind/, buffer/depot.h
 * Threads:  the calling one, with all signals blocked: it has one list of pcs and one pin
 * Memory:   the thread's own pcs; the depot
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_TAKE_STACK_H
#define KYMO_CAPTURE_TAKE_STACK_H

#include "capture/state.h"

/* The stack from thread->regs on, which are overwritten; its id, 0 if there was no room (counted).
 * The depot is pinned from here on: kymo_depot_leave, once a record that has the id is published.
 * callers (may be NULL) gets a hash of all its frames but the innermost. */
KYMO_SIGNAL_SAFE uint32_t kymo_stack_take(struct kymo_process *process, struct kymo_thread *thread,
                                          uint64_t *callers);

#endif
