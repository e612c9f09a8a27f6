/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_events.h - asks a process's allocator what it has, and tells that as counters.
 *
 * Layer:    recorder
 * Flow:     the session -> [allocator events] -> recording writer; the ledger
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

#include <stdint.h>

#include "buffer/drain.h"
#include "buffer/session.h"
#include "memory/figures.h"
#include "observe/telemetry.h"
#include "recording/events.h"

/* ---- allocator_answer.c: what the program's allocator says of itself, out of the session ----
 *
 * The program may write anything there: each word is read once, and is a number like any other.
 */

struct kymo_allocator_answer {
    uint32_t number; /* of the question; 0: there is no answer */
    uint64_t clock;  /* of the session, when it was given */
    uint64_t took;   /* units of that clock */
    uint64_t known;  /* a bit for each enum kymo_allocator_word */
    int64_t value[KYMO_ALLOCATOR_WORD_COUNT];
};

/* Returns 0, and leaves *answer as it was, if there is none, or one is being written just now. */
int kymo_allocator_answer_read(const struct kymo_session *session,
                               struct kymo_allocator_answer *answer);

/* The figure that a word is. */
enum kymo_figure kymo_allocator_answer_figure(enum kymo_allocator_word word);

/* The same of every allocator, in bytes; below 0: it does not say. */
struct kymo_allocator_sums {
    int64_t allocated; /* in blocks that the program has, as large as they really are, and in caches
                        * of threads where those cannot be told apart (glibc) */
    int64_t free;      /* in none, and kept; not all of it need be resident */
    int64_t own;       /* what it needs for itself, if not in the two above */
    int64_t mapped;    /* all of it, taken from the system and not given back */
};
struct kymo_allocator_sums kymo_allocator_answer_sums(const struct kymo_allocator_answer *answer);

/* ---- allocator_events.c ---- */

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
