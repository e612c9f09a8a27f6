/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_events.h - asks a process's allocator for its figures, and records them as counters.
 *
 * Layer:    recorder
 * Flow:     the session -> [allocator events] -> recording writer; the ledger
 * Threads:  the recorder's one thread
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * The first questions come quickly, so that a short program is asked, too. Then there is one each
 * second, and fewer if an answer took more than a millisecond.
 *
 * A question waits until a thread of the program takes it. If none does, the program allocates
 * nothing and the figures have not changed. Figures that all allocators have are recorded as
 * counters; at the end, the last value of each figure is recorded under its own name.
 */
#ifndef KYMO_RECORDER_ALLOCATOR_EVENTS_H
#define KYMO_RECORDER_ALLOCATOR_EVENTS_H

#include <stdint.h>

#include "buffer/drain.h"
#include "buffer/session.h"
#include "memory/figures.h"
#include "observe/telemetry.h"
#include "recording/events.h"

/* ---- allocator_answer.c: reads the allocator's answer out of the session ----
 *
 * The program may write anything there, so each word is read once, and any value is accepted. */

struct kymo_allocator_answer {
    uint32_t number; /* of the question; 0: no answer yet */
    uint64_t clock;  /* time of the answer, on the session's clock */
    uint64_t took;   /* duration, in units of that clock */
    uint64_t known;  /* a bit for each enum kymo_allocator_word */
    int64_t value[KYMO_ALLOCATOR_WORD_COUNT];
};

/* Returns 0, and leaves *answer unchanged, if there is no answer, or it is being written. */
int kymo_allocator_answer_read(const struct kymo_session *session,
                               struct kymo_allocator_answer *answer);

/* The figure that a word holds. */
enum kymo_figure kymo_allocator_answer_figure(enum kymo_allocator_word word);

/* Figures in the same terms for every allocator, in bytes; below 0: not known. */
struct kymo_allocator_sums {
    int64_t allocated; /* usable bytes of live allocations; with glibc also of the threads'
                        * caches */
    int64_t free;      /* free but kept by the allocator; possibly not resident */
    int64_t own;       /* the allocator's own data, if it is not in the two above */
    int64_t mapped;    /* all memory taken from the system and not returned */
};
struct kymo_allocator_sums kymo_allocator_answer_sums(const struct kymo_allocator_answer *answer);

/* ---- allocator_events.c ---- */

/* Numbers follow those of telemetry.h. */
#define KYMO_ALLOCATOR_EVENTS_CATEGORY (KYMO_TELEMETRY_FIRST + 1)
#define KYMO_ALLOCATOR_EVENTS_COUNTER (KYMO_TELEMETRY_FIRST + 64)

/* All zero at first. */
struct kymo_allocator_events {
    struct kymo_allocator_answer last; /* the newest answer; number 0: none */
    uint64_t last_ns;                  /* the time of it */
    uint32_t asked;
    uint64_t asked_ns, next_ns, step_ns;
    uint32_t told; /* a bit for each counter announced, and one for the category */
};

/* What is needed to read the figures of one process. */
struct kymo_allocator_events_look {
    const kymo_event_handler *events;
    void *context;
    uint32_t process;
    struct kymo_session *session;
    const kymo_drain *drain; /* of that session, to convert times */
};

/* Reads the answer if there is a new one; asks again if it is time to. */
KYMO_NODISCARD
kymo_err kymo_allocator_events_round(struct kymo_allocator_events *a,
                                     const struct kymo_allocator_events_look *look,
                                     uint64_t now_ns);
/* Records the last figures of a process that has ended. */
KYMO_NODISCARD
kymo_err kymo_allocator_events_finish(struct kymo_allocator_events *a,
                                      const struct kymo_allocator_events_look *look);

#endif
