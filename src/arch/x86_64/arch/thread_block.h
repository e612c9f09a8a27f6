/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_block.h - the C library's block of a thread, and the register that leads to it.
 *
 * Layer:    arch
 * Flow:     [thread_block] -> thread_pointer.c, process.c, hooks.c, python_walk.c
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 * The block is what pthread_self returns the address of. On x86-64 the FS base is that address. A
 * program may give a thread another FS base; thread_pointer.h says whose it is.
 */
#ifndef KYMO_ARCH_THREAD_BLOCK_H
#define KYMO_ARCH_THREAD_BLOCK_H

#include <asm/prctl.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "arch/system_call.h"

/* Where a block holds its own address, which tells it from other memory; UINT8_MAX ends the list.
 */
static const uint8_t kymo_thread_block_selves[] = {0, 16, UINT8_MAX};

/* Of the calling thread, which is known to be the C library's. */
static inline uint64_t kymo_thread_block(void)
{
    return (uint64_t)(uintptr_t)__builtin_thread_pointer();
}

/* Whether kymo_thread_block_read may be used: the kernel allows the instruction since Linux 5.9. */
static inline int kymo_thread_block_may_read(void)
{
    enum { FSGSBASE = 1 << 1 };
    return (getauxval(AT_HWCAP2) & FSGSBASE) != 0;
}

/* Of any thread, by an instruction that does not touch memory. */
static inline uint64_t kymo_thread_block_read(void)
{
    uint64_t base;
    __asm__ volatile("rdfsbase %0" : "=r"(base));
    return base;
}

/* Of any thread, by a system call. Returns 0 if that is refused. */
static inline int kymo_thread_block_ask(uint64_t *block)
{
    return kymo_syscall3(SYS_arch_prctl, ARCH_GET_FS, (long)(intptr_t)block, 0) == 0;
}

#endif
