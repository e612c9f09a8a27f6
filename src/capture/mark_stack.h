/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_stack.h - stacks that markers have: the present one, and one for later.
 *
 * Layer:    capture
 * Flow:     mark_slow.c -> [mark_stack] -> take_stack.h
 * Threads:  the calling one
 * Signals:  safe; they are blocked meanwhile
 */
#ifndef KYMO_CAPTURE_MARK_STACK_H
#define KYMO_CAPTURE_MARK_STACK_H

#include "capture/state.h"

struct kymo_mark_stack_hold {
    uint64_t mask; /* of signals, as it was */
    uint32_t id;   /* of the stack, 0: none */
    uint32_t held; /* 0: nothing was taken nor blocked */
};

/* The caller's stack. No signal comes, and the id is good, until the end. */
KYMO_SIGNAL_SAFE void kymo_mark_stack_begin(struct kymo_capture_thread *thread,
                                            struct kymo_mark_stack_hold *hold);
KYMO_SIGNAL_SAFE void kymo_mark_stack_end(struct kymo_capture_thread *thread,
                                          const struct kymo_mark_stack_hold *hold);

#endif
