/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - calls that a tracer in the program tells of.
 *
 * Layer:    capture
 * Flow:     kymo/trace_abi.h in a tracer -> [trace] -> buffer/stream.h
 * Threads:  any; each writes to its own stream of calls
 * Memory:   blocks of the session
 * Signals:  none of it is for handlers: a stream of calls has one writer, and is never claimed
 */
#ifndef KYMO_CAPTURE_TRACE_H
#define KYMO_CAPTURE_TRACE_H

#include "base/attr.h"
#include "kymo/trace_abi.h"

/* NULL: this process has not attached, or the version is not served. */
const struct kymo_trace_calls *kymo_trace_begin(uint32_t abi);

/* One tracer at a time, of which several threads may speak at once: each interpreter of Python has
 * its own. Atomic. Where a recording begins the turn is another one (process.c): what threads know
 * of an earlier recording is not good for it. In a forked child it is as its parent's. */
extern struct kymo_trace_now kymo_trace_now;

/* The calling thread's. */
extern __thread struct kymo_trace_place kymo_trace_place KYMO_TLS_IE;

/* Nothing is put there any more: its thread begins or ends in a recording, or is a forked child's.
 * Its block stays: in a handler an event may be on its way there. */
KYMO_SIGNAL_SAFE static inline void kymo_trace_leave_place(void)
{
    kymo_trace_place.turn = kymo_trace_place.until = 0;
}

#endif
