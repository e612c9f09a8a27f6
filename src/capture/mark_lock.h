/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_lock.h - a lock for what of markers is not for handlers: attaching, registering.
 *
 * Layer:    capture
 * Threads:  any; held for microseconds, without a call of the program's
 * Memory:   the caller's word, 0: free; a forked child sets it so, since the thread that held it
 *           may not be there
 * Signals:  not for handlers
 */
#ifndef KYMO_CAPTURE_MARK_LOCK_H
#define KYMO_CAPTURE_MARK_LOCK_H

#include "base/atomic.h"
#include "capture/state.h"
#include "sys/raw.h"

/* Lets another thread run, where a system call may be made. */
static inline void kymo_mark_yield(void)
{
    const struct kymo_process *p = kymo_process_here();
    kymo_cpu_relax();
    if (!(p ? kymo_is_quiet(p) : kymo_is_quiet_here()))
        (void)kymo_syscall3(SYS_sched_yield, 0, 0, 0);
}

static inline void kymo_mark_lock(uint32_t *lock)
{
    while (kymo_exchange_acq_rel(lock, 1u) != 0)
        kymo_mark_yield();
}

static inline void kymo_mark_unlock(uint32_t *lock)
{
    kymo_store_release(lock, 0u);
}

#endif
