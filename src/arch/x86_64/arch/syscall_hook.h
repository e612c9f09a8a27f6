/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall_hook.h - the hook of the C library's function syscall.
 *
 * Layer:    arch
 * Flow:     syscall(number, ...) -> [hook] -> kymo_syscall_look -> the real one
 * Threads:  any
 * Memory:   none
 * Signals:  as safe as what it wraps
 *
 * syscall may be asked for anything, also for a child that returns on another stack or on this one:
 * so its hook goes on by a jump, with all registers and the stack as they were. That is assembly.
 * It calls kymo_syscall_look for the numbers of prctl, seccomp, rt_sigaction and rt_sigprocmask
 * alone.
 */
#ifndef KYMO_ARCH_SYSCALL_HOOK_H
#define KYMO_ARCH_SYSCALL_HOOK_H

typedef void kymo_syscall_fn(void);

/* ---- syscall_hook.c of each architecture, beside the hook itself ---- */

/* Calls kymo_syscall_resolve, then jumps to kymo_real_syscall. */
void kymo_syscall_resolve_first(void);

/* ---- capture/seccomp_hooks.c ---- */

/* Where the hook jumps to; at first to kymo_syscall_resolve_first. */
extern kymo_syscall_fn *kymo_real_syscall;
/* Finds the real one. */
void kymo_syscall_resolve(void);
/* Looks at a call that is about to be made. */
void kymo_syscall_look(long number, long a, long b, long c);

#endif
