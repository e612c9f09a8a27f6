/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_hooks.h - execve and all that is made of it.
 *
 * Layer:    capture
 * Threads:  any thread of the program; also children of fork and vfork
 * Signals:  safe, as exec is
 */
#ifndef KYMO_CAPTURE_EXEC_HOOKS_H
#define KYMO_CAPTURE_EXEC_HOOKS_H

/* Finds the real functions; 0 if one does not exist. A child of fork or vfork could not look for
 * them. Start only. */
int kymo_exec_hooks_init(void);

#endif
