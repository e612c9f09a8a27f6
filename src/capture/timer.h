/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.h - the engine that needs no privilege: a POSIX timer on the thread's own CPU clock.
 *
 * Layer:    capture
 * Threads:  each call is about the calling thread
 * Signals:  safe (raw system calls)
 *
 * The kernel looks at such timers at each tick only, so no period is finer than 1/HZ. It queues
 * the signal when the thread returns to user mode, not in the middle of a system call: nothing
 * sees EINTR for it.
 */
#ifndef KYMO_CAPTURE_TIMER_H
#define KYMO_CAPTURE_TIMER_H

#include "capture/state.h"

/* Sets slot->timer_on if it worked, else counts it (RLIMIT_SIGPENDING bounds the timers). */
KYMO_SIGNAL_SAFE void kymo_timer_arm(struct kymo_process *process, struct kymo_thread *thread);
KYMO_SIGNAL_SAFE void kymo_timer_disarm(struct kymo_thread *thread);

#endif
