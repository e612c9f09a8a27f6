/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the libc functions about threads and libraries that we stand in front of.
 *
 * Layer:    capture
 * Threads:  any thread of the program, at any time, also before start and in forked children
 * Signals:  the hooks are as safe as what they wrap
 *
 * pthread_create, thrd_create: the new thread is known from its first instruction on.
 * dlclose:        a last look at what is about to go away.
 *
 * dlopen is not wrapped: a wrapper is the caller whose RUNPATH the loader would then search.
 */
#ifndef KYMO_CAPTURE_HOOKS_H
#define KYMO_CAPTURE_HOOKS_H

#include "capture/state.h"

/* Finds the real functions and makes the key whose destructor sees threads end. Returns 0 if a
 * function that is needed does not exist. Start only. */
int kymo_hooks_init(void);

/* Arranges that kymo_thread_end runs when the calling thread ends. Not for handlers. */
void kymo_hooks_watch_exit(struct kymo_capture_thread *thread);

#endif
