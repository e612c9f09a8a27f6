/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - what a CPU is told and asked by an instruction: its counter, and that a loop waits.
 *
 * Layer:    arch
 * Flow:     [cpu] -> sys/clock.h, loops that wait for another thread
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_ARCH_CPU_H
#define KYMO_ARCH_CPU_H

#include <stdint.h>

/* The kernel's name of the clocksource that this counter is. Where the kernel uses another, the
 * counter is not trusted, and not read. */
#define KYMO_COUNTER_CLOCKSOURCE "tsc"

/* The time-stamp counter: ticks at one rate, the same on all CPUs. */
static inline uint64_t kymo_counter_read(void)
{
    uint32_t lo;
    uint32_t hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}

/* In a loop that waits for another thread's store. */
static inline void kymo_cpu_relax(void)
{
    __builtin_ia32_pause();
}

#endif
