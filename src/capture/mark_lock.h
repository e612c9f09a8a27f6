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

/* Whether no system call may be made, here and now. */
KYMO_SIGNAL_SAFE static inline int kymo_mark_is_quiet(void)
{
    const struct kymo_capture_process *p = kymo_process_here();
    return p ? kymo_is_quiet(p) : kymo_is_quiet_here();
}

/* Lets another thread run for some 20 us: one that is of a lesser priority, too. */
static inline void kymo_mark_wait(void)
{
    if (!kymo_mark_is_quiet())
        kymo_raw_wait_a_little();
    else
        for (int i = 0; i < 500; i++)
            kymo_cpu_relax();
}

static inline void kymo_mark_lock(uint32_t *lock)
{
    while (kymo_exchange_acq_rel(lock, 1u) != 0)
        kymo_mark_wait();
}

static inline void kymo_mark_unlock(uint32_t *lock)
{
    kymo_store_release(lock, 0u);
}

#endif
