/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_calls.h - which traced calls run in each thread, at a place in the stream of events.
 *
 * Layer:    recording
 * Flow:     calls that a ring drops, or all of a segment -> [open calls] -> the first calls of what
 *           is kept, or of the next segment
 * Threads:  the writer's
 * Memory:   12 bytes for each call that runs; kymo_open_calls_deinit
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_OPEN_CALLS_H
#define KYMO_RECORDING_OPEN_CALLS_H

#include "base/error.h"
#include "base/vec.h"
#include "recording/events.h"
#include "recording/recording.h"
#include "recording/recording_calls.h"

struct kymo_open_call {
    uint32_t script;
    uint32_t depth;
};

struct kymo_open_calls_thread {
    KYMO_VEC(struct kymo_open_call) calls; /* the outermost first */
    uint64_t time_ns;                      /* of its last event */
    struct kymo_call_state state;          /* behind the groups that were read */
};

struct kymo_open_calls {
    KYMO_VEC(struct kymo_open_calls_thread) threads; /* by thread */
    struct kymo_call_reader reader;
};

/* Takes the next event of a thread. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_open_calls_take(struct kymo_open_calls *open, uint32_t thread,
                              const kymo_event_call *e);
/* Takes all events of a group; *count, if it is not NULL, grows by so many. What makes no sense is
 * left out. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_open_calls_read(struct kymo_open_calls *open, const kymo_event_raw_calls *group,
                              uint64_t *count);
/* Writes the calls that run in a thread as events KYMO_TRACE_OPEN, at the time of its last event,
 * but not before from_ns; the thread's next group can be read behind them. Forwards the writer's
 * error, or KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_open_calls_put(const struct kymo_open_calls *open, uint32_t thread, uint64_t from_ns,
                             kymo_recording_writer *w);
/* A thread that has ended. */
void kymo_open_calls_forget(struct kymo_open_calls *open, uint32_t thread);
void kymo_open_calls_deinit(struct kymo_open_calls *open);

#endif
