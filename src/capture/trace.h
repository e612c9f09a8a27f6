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

#include "kymo/trace_abi.h"

/* NULL: this process has not attached, or the version is not served. */
const struct kymo_trace_calls *kymo_trace_begin(uint32_t abi);

#endif
