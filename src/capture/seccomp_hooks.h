/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp_hooks.h - the ways to a seccomp filter: prctl, and system calls by number.
 *
 * Layer:    capture
 * Flow:     the program -> [seccomp_hooks] -> session.quiet
 * Threads:  any thread of the program, at any time, also before start and in forked children
 * Signals:  the hooks are as safe as what they wrap
 *
 * A filter installed after the start may kill a thread that makes a system call it does not know.
 * So the process becomes quiet before the filter is installed. From then on handlers make no system
 * call at all, and hooks make only the one that they wrap. A filter that was installed before the
 * start has let us start. Nor is the time-stamp counter read where that would fault: in the
 * kernel's strict mode, and after PR_SET_TSC. A filter that is installed without libc is seen by
 * the recorder, in /proc, a little late.
 */
#ifndef KYMO_CAPTURE_SECCOMP_HOOKS_H
#define KYMO_CAPTURE_SECCOMP_HOOKS_H

/* Finds the real functions. Returns 0 if one that is needed does not exist. Start only. */
int kymo_seccomp_hooks_init(void);

#endif
