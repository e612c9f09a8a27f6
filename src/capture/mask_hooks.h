/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_hooks.h - the libc functions by which a program blocks signals, and waits for blocked ones.
 *
 * Layer:    capture
 * Threads:  any thread of the program, at any time, also before start and in forked children
 * Signals:  the hooks are as safe as what they wrap
 *
 * A mask of (nearly) all signals is not about ours: such a thread would have no samples. Ours stays
 * open in it, and the thread keeps in mind that the program holds it blocked: that is what the
 * program reads back, what a thread or a process that it makes begins with, and what one of the
 * program's own signals of that number finds. A smaller mask that names ours means it: we move
 * (signal_move.h). So do sigwait, sigwaitinfo, sigtimedwait and signalfd; on a set of all signals
 * they see none of ours.
 *
 * The masks of sigsuspend, pselect, ppoll and epoll_pwait hold only while the thread sleeps, when
 * it needs no samples: they are left as they are. So is that of a handler, for which the kernel
 * sets it, and that of posix_spawn's attributes.
 */
#ifndef KYMO_CAPTURE_MASK_HOOKS_H
#define KYMO_CAPTURE_MASK_HOOKS_H

#include <stdint.h>

#include "capture/state.h"

/* What the program holds blocked on this thread and the kernel does not: of our signals only.
 * A copy of the thread (fork) has it, too. */
extern __thread uint64_t kymo_held_self KYMO_TLS_IE;

/* Whether a mask, as the kernel has it, is meant to be of all signals. */
KYMO_SIGNAL_SAFE int kymo_mask_is_of_all(uint64_t mask);

/* Opens these signals for the calling thread, which holds them blocked for the program. */
void kymo_mask_open(uint64_t mask);

/* What the calling thread holds is blocked in truth from here on, so that a new image inherits it
 * as the program has it; returns it. resume opens it again, for who has come back. */
uint64_t kymo_mask_settle(void);
void kymo_mask_resume(uint64_t held);

/* The same for good: nothing is held any more. */
void kymo_mask_forget(void);

/* What a new thread's first mask will hold of our signals: called by its creator, which knows the
 * attributes; and by itself. attr: a pthread_attr_t or NULL. */
void kymo_mask_prepare_thread(struct kymo_capture_process *process,
                              struct kymo_capture_thread *thread, const void *attr);
void kymo_mask_begin_thread(struct kymo_capture_process *process,
                            const struct kymo_capture_thread *thread);

#endif
