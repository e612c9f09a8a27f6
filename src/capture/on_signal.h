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

/* What the program itself wants done with the signal, kept by the sigaction hook. */
struct kymo_program_action {
    void (*handler)(int);
    uint64_t mask; /* the kernel's sa_mask: bit N - 1 is signal N */
    int flags;
};

/* The present one and those before it: a reader copies an old one rather than wait for a writer,
 * which may be the very thread that the reader has interrupted, or one that a fork left behind. */
#define KYMO_PROGRAM_ACTIONS 8u
struct kymo_program_actions {
    uint32_t current; /* counts; which of them is present modulo KYMO_PROGRAM_ACTIONS */
    struct kymo_program_action ring[KYMO_PROGRAM_ACTIONS];
};
extern struct kymo_program_actions kymo_program_actions;

/* The present action; *which (may be NULL) is its place in the ring. */
KYMO_SIGNAL_SAFE struct kymo_program_action kymo_program_action_get(uint32_t *which);
/* Makes another one the present one. One writer at a time. */
KYMO_SIGNAL_SAFE void kymo_program_action_set(const struct kymo_program_action *action);

#endif
