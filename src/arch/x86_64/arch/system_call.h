/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_call.h - the instruction of a system call, with as many arguments as are needed.
 *
 * Layer:    arch
 * Flow:     sys/raw.h includes it, and says what these are for
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 * Each returns what the kernel returned: -errno on failure.
 */
#ifndef KYMO_ARCH_SYSTEM_CALL_H
#define KYMO_ARCH_SYSTEM_CALL_H

static inline long kymo_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long kymo_syscall4(long nr, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long kymo_syscall3(long nr, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
