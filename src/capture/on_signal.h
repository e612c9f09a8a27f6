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

/* For sigaction with SA_SIGINFO | SA_RESTART | SA_ONSTACK and a full mask. */
KYMO_SIGNAL_SAFE void kymo_on_signal(int signo, siginfo_t *info, void *context);

/* What the program itself wants done with the signal, kept by the sigaction hook: read by the
 * handler for signals that are not ours. */
struct kymo_program_action {
    uint32_t sequence; /* odd while it is written */
    int flags;
    void (*handler)(int);
};
extern struct kymo_program_action kymo_program_action;

#endif
