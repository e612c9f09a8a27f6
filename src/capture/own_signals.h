/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_signals.h - the signals that our handler stands in front of, and what the program wants of
 * each.
 *
 * Layer:    capture
 * Flow:     signal_hooks.c, signal_move.c -> [own_signals] -> on_signal.c
 * Threads:  one writer at a time, under signal_move.h's lock; any number of readers
 * Memory:   static; a forked child keeps it, since it inherits the handler
 * Signals:  all of it is safe
 *
 * There is more than one once we have moved away from a signal that the program uses: one of ours
 * may still be on its way under the old number.
 */
#ifndef KYMO_CAPTURE_OWN_SIGNALS_H
#define KYMO_CAPTURE_OWN_SIGNALS_H

#include <stdint.h>

#include "base/attr.h"

#define KYMO_OWN_SIGNALS 6 /* at most */

/* In a mask as the kernel has it. */
#define KYMO_SIGNAL_BIT(signo) (1ull << ((signo)-1))

/* What the program itself wants done with a signal, kept by the sigaction hook. */
struct kymo_program_action {
    void (*handler)(int);
    uint64_t mask; /* the kernel's sa_mask: bit N - 1 is signal N */
    int flags;
};

/* Which of ours a signal is, from 0 on; -1: our handler was never in front of it. */
KYMO_SIGNAL_SAFE int kymo_own_signal_find(int signo);
/* All of them, as a mask. */
KYMO_SIGNAL_SAFE uint64_t kymo_own_signal_mask(void);
/* Another one, with the program's present action for it; -1: there are too many. */
int kymo_own_signal_add(int signo, const struct kymo_program_action *action);

/* The present action of one of ours; *which (may be NULL) is its place for the next function. */
KYMO_SIGNAL_SAFE struct kymo_program_action kymo_program_action_get(int own, uint32_t *which);
/* Makes another one the present one. One writer at a time. */
KYMO_SIGNAL_SAFE void kymo_program_action_set(int own, const struct kymo_program_action *action);
/* SA_RESETHAND: the handler becomes SIG_DFL; 0 if another thread did that before. */
KYMO_SIGNAL_SAFE int kymo_program_action_reset(int own, uint32_t which, void (*handler)(int));

#endif
