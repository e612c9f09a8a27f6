/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the clocks that records carry.
 *
 * Layer:    sys
 * Threads:  any
 * Signals:  safe
 *
 * A record's clock is the time-stamp counter where the kernel itself trusts it as its clocksource,
 * else CLOCK_MONOTONIC in nanoseconds (through the vDSO). Which one a session uses is decided once,
 * by the recorder; it also takes the anchors that turn ticks into nanoseconds.
 */
#ifndef KYMO_SYS_CLOCK_H
#define KYMO_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "arch/cpu.h"
#include "sys/raw.h"

enum kymo_clock_kind { KYMO_CLOCK_MONOTONIC = 0, KYMO_CLOCK_TSC = 1 };

static inline uint64_t kymo_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t kymo_clock_tsc(void)
{
    return kymo_counter_read();
}

static inline uint64_t kymo_clock_now(enum kymo_clock_kind kind)
{
    return kind == KYMO_CLOCK_TSC ? kymo_clock_tsc() : kymo_clock_ns(CLOCK_MONOTONIC);
}

/* The CPU clock of any thread of this process, as the kernel numbers it. */
static inline long kymo_clock_of_thread(uint32_t tid)
{
    enum { PER_THREAD = 4, SCHEDULER = 2 };
    return (long)(int)(~tid << 3 | PER_THREAD | SCHEDULER);
}

/* A CPU clock, in nanoseconds, by a raw system call: glibc's wrapper would do the same, since no
 * vDSO has these. 0 when a filter denies the call, or there is no such thread. */
static inline uint64_t kymo_clock_cpu(long clock)
{
    struct timespec t = {0, 0};
    if (kymo_syscall3(SYS_clock_gettime, clock, (long)(intptr_t)&t, 0) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The CPU time of the calling thread. */
static inline uint64_t kymo_clock_thread_cpu(void)
{
    return kymo_clock_cpu(CLOCK_THREAD_CPUTIME_ID);
}

#endif
