/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_child.h - a forked child becomes a recorded process of its own.
 *
 * Layer:    capture
 * Flow:     fork -> [fork_child] -> connect.c, process.c
 * Threads:  a forked child has one thread, until it makes more
 * Memory:   a copy of the parent's; the parent's state reads as zeros, its session is gone but for
 *           the first page (family.h)
 * Signals:  what is marked is safe
 *
 * Most children call exec soon, and another image attaches then. So a child waits: a timer on the
 * CPU clock of its thread brings our signal once it has used some time of its own, and it attaches
 * in the handler. Who must know at once what the child is (a thread is made, the signal is asked
 * for) lets it attach there and then; so does a recording of waiting threads.
 */
#ifndef KYMO_CAPTURE_FORK_CHILD_H
#define KYMO_CAPTURE_FORK_CHILD_H

#include <signal.h>

#include "capture/state.h"

/* Asks libc to tell us of forks; 0 if that fails. Start only. */
int kymo_fork_init(void);
/* Keeps what a child needs to set up the wiped state again. process has taken its session. Start
 * only. */
void kymo_fork_remember(const struct kymo_capture_process *process);

/* Whether this is a child that may attach yet. */
KYMO_SIGNAL_SAFE int kymo_fork_is_pending(void);
/* Whether this signal is the timer's that ends the waiting. */
KYMO_SIGNAL_SAFE int kymo_fork_is_due(const siginfo_t *info);
/* Whether this process was made by _Fork, directly or before: what its libraries had locked may be
 * locked for good. */
KYMO_SIGNAL_SAFE int kymo_fork_was_bare(void);
/* Attaches, if this is such a child; all signals are blocked. */
KYMO_SIGNAL_SAFE void kymo_fork_attach(void);
/* The same for hooks. */
KYMO_SIGNAL_SAFE void kymo_fork_attach_now(void);

#endif
