/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_events.h - traced calls and their functions become events.
 *
 * Layer:    recorder
 * Flow:     buffer/drain_calls.c -> [trace_events] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   none of its own
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_TRACE_EVENTS_H
#define KYMO_RECORDER_TRACE_EVENTS_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/drain.h"
#include "recording/events.h"

/* Script numbers of traced functions begin here: samples have those below. */
#define KYMO_TRACE_FIRST (1u << 30)

/* Each: the handler's error. */
KYMO_NODISCARD
kymo_err kymo_trace_events_function(uint32_t process, const struct kymo_drain_function *function,
                                    const kymo_event_handler *events, void *context);
KYMO_NODISCARD
kymo_err kymo_trace_events_calls(uint32_t thread, const struct kymo_call_bytes *calls,
                                 const kymo_event_handler *events, void *context);

#endif
