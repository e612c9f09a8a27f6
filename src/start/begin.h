/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin.h - this process begins to be recorded.
 *
 * Layer:    start
 * Flow:     preload.c, at the start of a program; agent.c, in one that runs -> [begin]
 * Threads:  one at a time
 * Memory:   the session and what is mapped beside it, from begin to end
 * Signals:  not for handlers
 */
#ifndef KYMO_START_BEGIN_H
#define KYMO_START_BEGIN_H

#include "capture/connect.h"

/* attach -> map our own memory -> walker, handler, the calling thread -> attached. NULL: this
 * process is recorded; else why it is not, a literal: the process goes on as if nothing had been.
 */
const char *kymo_begin(const struct kymo_attach_call *call);

/* Markers or a tracer have our functions. In any thread one of them may be under way, which nothing
 * waits for. So from now on the memory of a recording stays mapped when it ends. */
void kymo_has_callers(void);

/* Whether this process is recorded, or was and has not been given back. */
int kymo_has_begun(void);
/* The opposite of begin, where no function of the program's is hooked: nothing is captured from
 * here on, timers are deleted, signals have the program's actions again, and the memory is
 * unmapped. Then begin may follow. What the recorder has not read is still there for it. Nothing if
 * nothing has begun. Returns 0 where that cannot be: behind a seccomp filter that came after the
 * begin, which may allow none of this; or a thread is in the handler and has not run for a second.
 * Then the memory stays mapped; in the second case begin may follow all the same. */
int kymo_end(void);

#endif
