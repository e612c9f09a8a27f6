/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.h - system calls without libc: no errno, no cancellation point, no hook, neither ours nor
 * another library's.
 *
 * Layer:    sys
 * Threads:  any
 * Signals:  safe
 *
 * Each returns what the kernel returned: -errno on failure. Handlers and hooks use these, so that
 * an interposed libc function (a sandbox, another preloaded library) never sees a call of ours.
 */
#ifndef KYMO_SYS_RAW_H
#define KYMO_SYS_RAW_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/system_call.h"

static inline uint32_t kymo_raw_gettid(void)
{
    return (uint32_t)kymo_syscall3(SYS_gettid, 0, 0, 0);
}

static inline uint32_t kymo_raw_getpid(void)
{
    return (uint32_t)kymo_syscall3(SYS_getpid, 0, 0, 0);
}

static inline uint32_t kymo_raw_getppid(void)
{
    return (uint32_t)kymo_syscall3(SYS_getppid, 0, 0, 0);
}

/* Sets the calling thread's signal mask, as the kernel has it; before may be NULL. */
static inline void kymo_raw_set_mask(const uint64_t *mask, uint64_t *before)
{
    enum { SET = 2 };
    (void)kymo_syscall4(SYS_rt_sigprocmask, SET, (long)(intptr_t)mask, (long)(intptr_t)before,
                        sizeof *mask);
}

/* Blocks every signal for the calling thread, also those that libc keeps for itself. */
static inline void kymo_raw_block_all(uint64_t *before)
{
    static const uint64_t every = UINT64_MAX;
    kymo_raw_set_mask(&every, before);
}

static inline void kymo_raw_get_mask(uint64_t *mask)
{
    (void)kymo_syscall4(SYS_rt_sigprocmask, 0, 0, (long)(intptr_t)mask, sizeof *mask);
}

/* Blocks or unblocks these for the calling thread. */
static inline void kymo_raw_change_mask(const uint64_t *mask, int block)
{
    enum { BLOCK = 0, UNBLOCK = 1 };
    (void)kymo_syscall4(SYS_rt_sigprocmask, block ? BLOCK : UNBLOCK, (long)(intptr_t)mask, 0,
                        sizeof *mask);
}

/* Whether the 8 bytes at address can be read: the kernel reads a mask before it finds that what is
 * to be done with it makes no sense, and changes nothing. */
static inline int kymo_raw_is_readable(uint64_t address)
{
    return kymo_syscall4(SYS_rt_sigprocmask, -1, (long)address, 0, sizeof(uint64_t)) == -EINVAL;
}

/* Reads a word at an address that may be anything. Returns 0 if it cannot be read. */
static inline int kymo_raw_read_word(uint64_t address, uint64_t *word)
{
    if (!kymo_raw_is_readable(address))
        return 0;
    memcpy(word, (const void *)(uintptr_t)address, sizeof *word);
    return 1;
}

/* For one who waits for another thread's short work: sleeps, since one who yields to threads of its
 * own priority only would keep a lesser one from ever ending it. */
static inline void kymo_raw_wait_a_little(void)
{
    struct timespec t = {0, 20000};
    (void)kymo_syscall3(SYS_nanosleep, (long)(intptr_t)&t, 0, 0);
}

/* Wakes up to n waiters of a futex that lies in memory shared between processes. */
static inline void kymo_raw_futex_wake(uint32_t *word, int n)
{
    enum { WAKE = 1 };
    (void)kymo_syscall3(SYS_futex, (long)(intptr_t)word, WAKE, n);
}

#endif
