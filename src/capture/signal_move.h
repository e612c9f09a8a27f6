/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_move.h - which signal samples arrive by, and how we leave it to a program that uses it.
 *
 * Layer:    capture
 * Flow:     signal_hooks.c, mask_hooks.c -> [signal_move] -> session.signal_now -> recorder
 * Threads:  any
 * Signals:  the hooks that use it may be called in the program's handlers
 *
 *   SIGURG -> SIGWINCH -> a real-time signal -> none
 *
 * The first two are ignored by default, so one of ours that is still pending when the handler is
 * gone (exec) does no harm. A real-time signal then kills the process. So does SIGIO, which the
 * kernel sends instead of a real-time signal that it cannot queue. Such a signal is therefore used
 * for timers only: exec deletes timers, and each has its place in the queue.
 */
#ifndef KYMO_CAPTURE_SIGNAL_MOVE_H
#define KYMO_CAPTURE_SIGNAL_MOVE_H

#include <signal.h>
#include <stdint.h>

#include "base/attr.h"
#include "capture/state.h"

/* own_signals.c: the signals that our handler stands in front of, and what the program wants of
 * each.
 *
 * There is more than one once we have moved away from a signal that the program uses: one of ours
 * may still be on its way under the old number.
 */

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
/* None is any more: when our handler stands in front of none, and runs on no thread. */
void kymo_own_signals_forget(void);

/* The present action of one of ours; *which (may be NULL) is its place for the next function. */
KYMO_SIGNAL_SAFE struct kymo_program_action kymo_program_action_get(int own, uint32_t *which);
/* Makes another one the present one. One writer at a time. */
KYMO_SIGNAL_SAFE void kymo_program_action_set(int own, const struct kymo_program_action *action);
/* SA_RESETHAND: the handler becomes SIG_DFL; 0 if another thread did that before. */
KYMO_SIGNAL_SAFE int kymo_program_action_reset(int own, uint32_t which, void (*handler)(int));

/* ---- signal_move.c ---- */

/* Chooses the first signal and installs our handler for it, which the alternate stack of the
 * calling thread must hold, if it has one. Returns 0 if no signal is free. Start only. */
int kymo_signal_start(struct kymo_capture_process *process);

/* The program uses these signals itself: samples do not arrive by one of them from now on. Returns
 * when none of ours is on its way to the calling thread any more. A system call or two if
 * that changes nothing. */
void kymo_signal_leave(struct kymo_capture_process *process, uint64_t mask);

/* No handler could return from here on: samples arrive by no signal any more, and each signal is as
 * the program wants it. Returns as leave does. process: NULL in a forked child without a session;
 * in a child of vfork it is the parent's, and stays as it is. may_call: filters that are there
 * already let us take timers and handlers away. */
void kymo_signal_stop(struct kymo_capture_process *process, int may_call);

/* The program uses these signals, none of which need be ours: we do not move there. */
void kymo_signal_note_use(uint64_t mask);

/* Our handler for a signal of which the program wants this. Returns 0 on failure. */
int kymo_signal_install(int signo, const struct kymo_program_action *program);
/* Whether our handler would run on this alternate stack, and it is too small for that. */
int kymo_signal_would_overflow(const stack_t *stack);
/* No handler of ours runs on alternate stacks from now on. process: NULL if none is installed. */
void kymo_signal_off_alternate_stack(struct kymo_capture_process *process);

/* Just before a new image: what the program ignores is ignored in truth, since a handler would not
 * stay. Returns those signals; heed puts our handler in front of them again. */
uint64_t kymo_signal_ignore(void);
void kymo_signal_heed(uint64_t ignored);

/* A program's action as we keep it, and back. */
struct kymo_program_action kymo_program_action_of(const struct sigaction *from);
void kymo_program_action_describe(const struct kymo_program_action *from, struct sigaction *to);

/* Whether this process is the one whose session this is: a child of vfork runs in the same memory
 * under another pid, and what it does with signals is for itself alone. */
int kymo_signal_process_is_own(const struct kymo_capture_process *process);

/* A thread that changes an action holds this lock. An action may be changed in a handler, so all
 * signals are blocked meanwhile. */
struct kymo_signal_hold {
    uint64_t mask; /* as it was */
    int masked;    /* 0: quiet, nothing was blocked */
};
void kymo_signal_lock(const struct kymo_capture_process *process, struct kymo_signal_hold *hold);
void kymo_signal_unlock(const struct kymo_signal_hold *hold);
/* In a forked child: releases the lock, since the thread that held it does not exist there. Safe in
 * handlers. */
void kymo_signal_after_fork(void);

#endif
