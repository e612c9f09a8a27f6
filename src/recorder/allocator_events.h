/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_events.h - asks a process's allocator what it has, and tells that as counters.
 *
 * Layer:    recorder
 * Flow:     allocator_answer.h -> [allocator events] -> recording writer; the ledger
 * Threads:  the recorder's one thread
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * The first questions come quickly, so that a short program has an answer, too; then one each
 * second, and rarer where an answer kept the program for more than a millisecond.
 * A question waits until a thread takes it. If none does, the program allocates nothing, and
 * nothing has changed. What the allocator says is told as sums that all allocators have, in
 * counters; and at the end each figure by its own name, as it was last.
 */
#ifndef KYMO_RECORDER_ALLOCATOR_EVENTS_H
#define KYMO_RECORDER_ALLOCATOR_EVENTS_H

#include "buffer/drain.h"
#include "observe/telemetry.h"
#include "recorder/allocator_answer.h"
#include "recording/events.h"

/* Beside those of telemetry.h. */
#define KYMO_ALLOCATOR_EVENTS_CATEGORY (KYMO_TELEMETRY_FIRST + 1)
#define KYMO_ALLOCATOR_EVENTS_COUNTER (KYMO_TELEMETRY_FIRST + 64)

/* Begins as zeros. */
struct kymo_allocator_events {
    struct kymo_allocator_answer last; /* the newest; its number is 0: there is none */
    uint64_t last_ns;                  /* when that was */
    uint32_t asked;
    uint64_t asked_ns, next_ns, step_ns;
    uint32_t told; /* a bit for each counter; another one for the category */
};

/* What a process has of them. */
struct kymo_allocator_events_look {
    const kymo_event_handler *events;
    void *context;
    uint32_t process;
    struct kymo_session *session;
    const kymo_drain *drain; /* of that session, for times */
};

/* Reads the answer, if there is a new one, and asks again, if it is time to. */
KYMO_NODISCARD
kymo_err kymo_allocator_events_round(struct kymo_allocator_events *a,
                                     const struct kymo_allocator_events_look *look,
                                     uint64_t now_ns);
/* The process has ended. */
KYMO_NODISCARD
kymo_err kymo_allocator_events_finish(struct kymo_allocator_events *a,
                                      const struct kymo_allocator_events_look *look);

#endif
