/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the libc functions that the preloaded library stands in front of.
 *
 * Layer:    capture
 * Threads:  any thread of the program, at any time, also before start and in forked children
 * Signals:  the hooks are as safe as what they wrap
 *
 * pthread_create, thrd_create: the new thread is known from its first instruction on.
 * dlclose:        a last look at what is about to go away.
 * sigaction, signal: the program's own handler for the sampling signal is kept for it.
 * sigaltstack:    a stack that is too small for a handler is not used for ours.
 *
 * dlopen is not wrapped: a wrapper is the caller whose RUNPATH the loader would then search.
 */
#ifndef KYMO_CAPTURE_HOOKS_H
#define KYMO_CAPTURE_HOOKS_H

#include "capture/state.h"

/* Finds the real functions and makes the key whose destructor sees threads end. Returns 0 if a
 * function that is needed does not exist. Start only. */
int kymo_hooks_init(void);

/* Installs the handler by the real sigaction. Returns 0 on failure. */
int kymo_hooks_install_handler(int signo);

/* Arranges that kymo_thread_end runs when the calling thread ends. Not for handlers. */
void kymo_hooks_watch_exit(struct kymo_thread *thread);

#endif
