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

#include "capture/own_signals.h"
#include "capture/state.h"

/* Chooses the first signal and installs our handler for it. Returns 0 if no signal is free. Start
 * only, on the main thread. */
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
/* No more on alternate stacks: one is too small. */
void kymo_signal_off_alternate_stack(struct kymo_capture_process *process);
/* Whether our handler runs on alternate stacks. */
int kymo_signal_on_alternate_stack(void);

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
