/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.h - the engine that needs no privilege: a POSIX timer on the thread's own CPU clock.
 *
 * Layer:    capture
 * Threads:  any; two calls about one thread at once: the second one does nothing
 * Signals:  safe (raw system calls)
 *
 * The kernel looks at such timers at each tick only, so no period is finer than 1/HZ. It queues
 * the signal when the thread returns to user mode, not in the middle of a system call: nothing
 * sees EINTR for it.
 *
 * With the perf engine a timer stands beside an event that does not count in the kernel (host_arm.c
 * says when that is), and until there is an event: it samples what the event cannot.
 */
#ifndef KYMO_CAPTURE_TIMER_H
#define KYMO_CAPTURE_TIMER_H

#include "capture/state.h"

/* Returns whether it worked, which slot->timer_on then says, too. RLIMIT_SIGPENDING bounds the
 * number of timers. */
KYMO_SIGNAL_SAFE int kymo_timer_arm(struct kymo_capture_process *process,
                                    struct kymo_capture_thread *thread);
KYMO_SIGNAL_SAFE void kymo_timer_disarm(struct kymo_capture_thread *thread);
/* Whether the thread's timer has another signal or period than the present ones. */
KYMO_SIGNAL_SAFE static inline int kymo_timer_is_old(const struct kymo_capture_process *process,
                                                     const struct kymo_capture_thread *thread)
{
    return thread->timer_signal != kymo_load_relaxed(&process->signal) ||
           thread->timer_period_ns != kymo_load_relaxed(&process->session->period_ns);
}
/* Such a one is made anew; of one thread, of all. */
KYMO_SIGNAL_SAFE void kymo_timer_follow(struct kymo_capture_process *process,
                                        struct kymo_capture_thread *thread);
void kymo_timers_follow(struct kymo_capture_process *process);
/* Deletes all timers, also in a quiet process: the caller knows that it may make system calls. */
void kymo_timers_stop(struct kymo_capture_process *process);

#endif
