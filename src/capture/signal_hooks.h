/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_hooks.h - the libc functions about signals that the preloaded library stands in front of.
 *
 * Layer:    capture
 * Threads:  any thread of the program, at any time, also before start and in forked children
 * Signals:  the hooks are as safe as what they wrap
 *
 * sigaction, signal, bsd_signal, ssignal, sysv_signal, sigset, sigignore, siginterrupt: the
 *                    program's own handler for the sampling signal is kept for it; we move.
 * sigaltstack:       a stack that is too small for a handler is not used for ours.
 */
#ifndef KYMO_CAPTURE_SIGNAL_HOOKS_H
#define KYMO_CAPTURE_SIGNAL_HOOKS_H

/* Finds the real functions. Returns 0 if one that is needed does not exist. Start only. */
int kymo_signal_hooks_init(void);

#endif
