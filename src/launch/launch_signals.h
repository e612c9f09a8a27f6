/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_signals.h - what the recorder does with the signals that it gets while a program runs.
 *
 * Layer:    launch
 * Flow:     terminal, other processes -> [signals] -> launch.c -> the program
 * Threads:  the recorder's, its only one
 * Memory:   the caller's structure; the handlers' words are static
 * Signals:  its handlers store to words only
 *
 * What is typed at the terminal reaches the program by itself, and counts as an interrupt here.
 * SIGTERM and SIGHUP are passed on. Who stands for a service, passes on all that another process
 * sent: whoever signals the service knows only this process.
 */
#ifndef KYMO_LAUNCH_LAUNCH_SIGNALS_H
#define KYMO_LAUNCH_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdint.h>

struct kymo_launch_signals {
    struct sigaction before[NSIG]; /* of those that are handled */
    sigset_t handled;
    sigset_t mask;    /* as it was */
    sigset_t waiting; /* the same, with what is handled open */
};

/* Handles them from now on, when they are let in by `waiting`. all: what other processes send is
 * passed on, whatever it is. */
void kymo_launch_signals_take(struct kymo_launch_signals *signals, int all);
/* As before; also in a child that becomes the program. */
void kymo_launch_signals_give_back(const struct kymo_launch_signals *signals);

/* Whether a child has changed since the last call. */
int kymo_launch_child_has_changed(void);
/* How often Ctrl-C was typed. */
unsigned kymo_launch_interrupts(void);
/* Whether a signal that asks a process to end waits to be passed on. */
int kymo_launch_shall_end(void);
/* Passes on to this process what has come. */
void kymo_launch_forward(pid_t pid);

/* init.c */

/* Process 1 of a pid namespace reaps every orphan of it, and the kernel drops the signals that it
 * does not handle. So that one does nothing else: it makes a child, in which this returns, passes
 * signals on to it, and ends as it does. In any other process it does nothing. */
void kymo_launch_be_init(void);

#endif
