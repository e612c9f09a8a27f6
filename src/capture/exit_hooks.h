/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_hooks.h - what a process records when it ends by exit, _exit, _Exit or quick_exit.
 *
 * Layer:    capture
 * Flow:     [exit_hooks] -> slots in the session -> buffer/drain.c
 * Threads:  any thread of the program, also a forked child's and a child of vfork
 * Signals:  safe, as _exit is
 *
 * The recorder is the parent of the launched program only. For any other process it cannot ask for
 * the total usage once that process's parent has waited for it.
 */
#ifndef KYMO_CAPTURE_EXIT_HOOKS_H
#define KYMO_CAPTURE_EXIT_HOOKS_H

/* Finds the real functions; 0 if one does not exist. Start only. */
int kymo_exit_hooks_init(void);

#endif
