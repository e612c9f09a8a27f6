/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_events.h - turns the markers, labels and counters of a session into the events of a
 * recording.
 *
 * Layer:    recorder
 * Flow:     buffer/drain_marks.c -> [mark_events] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   the caller owns the structure, a part of struct kymo_session_events; deinit frees what
 *           it points to
 * Signals:  not for handlers
 *
 * A marker is written at once, with two exceptions. A marker that refers to a stack taken by
 * another thread may be read before the record of that stack: it waits for the next round. Counter
 * changes are added in order of time, not of threads, so they wait until all threads have been read
 * up to a time.
 */
#ifndef KYMO_RECORDER_MARK_EVENTS_H
#define KYMO_RECORDER_MARK_EVENTS_H

#include <stdint.h>

#include "base/id_map.h"
#include "base/key_map.h"
#include "base/vec.h"
#include "buffer/definition.h"
#include "buffer/drain.h"
#include "recording/events.h"

struct kymo_session_events;

/* Bytes of a name, key or text with its ellipsis. */
#define KYMO_MARK_EVENT_TEXT_MAX 1024u
#define KYMO_MARK_EVENT_TEXT_ROOM (KYMO_MARK_EVENT_TEXT_MAX + 4u)

/* The number of recent stacks that are kept. */
#define KYMO_MARK_BACKTRACES 65536u
/* Limit of waiting markers. Further ones are written without a stack and counted, as are those
 * that waited in vain. */
#define KYMO_MARKS_WAITING_MAX 4096u

struct kymo_mark_backtrace {
    uint64_t backtrace;
    uint32_t stack; /* + 1; 0: none */
};

struct kymo_waiting_mark {
    struct kymo_waiting_mark *next;
    kymo_event_marker event;
    uint64_t backtrace;
    uint32_t rounds;
    unsigned char bytes[]; /* of the payload, then of the name */
};

/* A change that has not been added to its counter yet. */
struct kymo_waiting_count {
    uint64_t time_ns;
    uint64_t order; /* order among changes with the same time */
    uint32_t counter;
    int64_t value;
    uint64_t operations;
};

struct kymo_mark_counter_sum {
    uint32_t is_there;
    uint32_t is_gauge;
    int is_f64;
    uint32_t is_each; /* each change is a record */
    uint32_t is_told;
    int64_t value;
    uint64_t operations;
    uint64_t told_ns; /* the latest time written */
    /* If each change is a record: the sum of those without room that was added so far. */
    int64_t unrecorded;
    uint64_t unrecorded_operations;
};

struct kymo_mark_events {
    struct kymo_mark_backtrace *backtraces; /* by number; NULL: none yet */
    struct kymo_waiting_mark *waiting, **last_waiting;
    uint32_t waiting_count;
    uint64_t stackless; /* markers whose stack was not found */
    KYMO_VEC(struct kymo_waiting_count) counts;
    uint64_t count_order;
    struct kymo_mark_counter_sum *sums;        /* by the counter's number; NULL: none yet */
    struct kymo_drain_site_counts *told_sites; /* by the site's number; NULL: none yet */
    uint32_t main_thread;                      /* the drain's number + 1; 0: not known */
    /* The threads that markers may be for: all threads of the process so far. */
    kymo_id_map tids;
    KYMO_VEC(uint32_t)
    with_tid; /* by index in tids: the drain's number of the last thread with
               * it */
    char name[KYMO_MARK_EVENT_TEXT_ROOM];
    char text[KYMO_MARK_EVENT_TEXT_ROOM];
};

/* For a kymo_drain_sink with a struct kymo_session_events as context. */
extern const struct kymo_drain_mark_sink kymo_mark_events_sink;

/* Adds a thread that the drain has announced: markers may be for it. */
KYMO_NODISCARD
kymo_err kymo_mark_events_thread(struct kymo_session_events *to, const struct kymo_drain_thread *t);
/* Call after a complete lap of the drain that began at round_ns: writes waiting markers and
 * changed counters. */
KYMO_NODISCARD
kymo_err kymo_mark_events_round(struct kymo_session_events *to, const kymo_drain *drain,
                                uint64_t round_ns);
/* Adds the stacks that markers may still refer to. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_mark_events_use_stacks(const struct kymo_mark_events *marks, kymo_key_map *used);
/* Writes the counts of each site whose markers were dropped or recorded since. */
KYMO_NODISCARD
kymo_err kymo_mark_events_tell_sites(struct kymo_session_events *to, const kymo_drain *drain);
/* Call after the last lap: writes all that waits, and the counts of all sites. */
KYMO_NODISCARD
kymo_err kymo_mark_events_finish(struct kymo_session_events *to, const kymo_drain *drain,
                                 uint64_t end_ns);
void kymo_mark_events_deinit(struct kymo_mark_events *m);

/* ---- mark_definitions.c: turns a session's definitions into the events of a recording ---- */

/* Writes a definition that the drain has checked. Ids in events are the definitions' numbers.
 * *counter is set for counters. */
KYMO_NODISCARD
kymo_err kymo_mark_definition_tell(const kymo_event_handler *events, void *context,
                                   uint32_t process, const struct kymo_definition *definition,
                                   kymo_event_counter *counter);

#endif
