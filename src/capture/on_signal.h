/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_signal.h - the handler of the sampling signal.
 *
 * Layer:    capture
 * Flow:     perf event or timer -> signal -> [on_signal] -> session
 * Threads:  runs on the sampled thread, with all signals masked
 * Signals:  this is the one handler; everything that it reaches is marked KYMO_SIGNAL_SAFE
 */
#ifndef KYMO_CAPTURE_ON_SIGNAL_H
#define KYMO_CAPTURE_ON_SIGNAL_H

#include <signal.h>

#include "capture/state.h"

/* For sigaction with SA_SIGINFO and a full mask. */
KYMO_SIGNAL_SAFE void kymo_on_signal(int signo, siginfo_t *info, void *context);

/* Whether a signal is of our sending, by what it carries. thread: the calling one's, or NULL. */
KYMO_SIGNAL_SAFE int kymo_signal_is_ours(const struct kymo_capture_process *process,
                                         const struct kymo_capture_thread *thread,
                                         const siginfo_t *info);

#endif
