/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_hooks.h - mlockall locks the program's memory, not ours.
 *
 * Layer:    capture
 * Flow:     the program's mlockall -> [lock_hooks] -> the kernel
 * Threads:  any
 * Signals:  not for handlers
 */
#ifndef KYMO_CAPTURE_LOCK_HOOKS_H
#define KYMO_CAPTURE_LOCK_HOOKS_H

/* Finds the real function; 0 if it does not exist. Start only. */
int kymo_lock_hooks_init(void);

#endif
