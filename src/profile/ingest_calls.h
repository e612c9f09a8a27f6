/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_calls.h - traced calls become samples of self time.
 *
 * Layer:    profile
 * Flow:     events of calls -> [ingest_calls] -> samples of elapsed time (KYMO_SAMPLE_TRACE), and
 *           of numbers of calls (KYMO_SAMPLE_CALLS)
 * Threads:  the ingest's
 * Memory:   a node for each stack, a few words for each thread; kymo_ingest_calls_deinit
 * Signals:  not for handlers
 *
 * The time from an event of a thread to its next one is self time of the stack that ran. Up to
 * KYMO_CALLS_ROWS such slices of a recording are one sample each. Of more, as many events of a
 * thread as are needed form a window, and the slices of one stack in a window are one sample: sums
 * stay exact, and only the order within a window is lost.
 *
 * Calls that are shorter than min_ns are left out, with all that they call: their time is their
 * caller's. A call is settled once it has lasted so long; the time of one that is not waits with
 * it. If a call is settled, so are its callers.
 */
#ifndef KYMO_PROFILE_INGEST_CALLS_H
#define KYMO_PROFILE_INGEST_CALLS_H

#include <stdint.h>

#include "base/id_map.h"
#include "base/vec.h"
#include "profile/ingest.h"
#include "recording/events.h"

#define KYMO_CALLS_ROWS 250000u
#define KYMO_CALLS_RECENT 1024u

struct kymo_ingest_call_node {
    uint32_t stack;   /* in the profile */
    uint32_t window;  /* the last one that has it */
    uint32_t place;   /* in that window */
    uint32_t counter; /* of the thread that called it last; KYMO_NONE: it was not called */
};

/* A function and the node that calls it, found a moment ago. */
struct kymo_ingest_call_pair {
    uint64_t key;
    uint32_t node; /* the function's there, + 1; 0: there is no pair */
};

/* Calls of a node by a thread. */
struct kymo_ingest_call_counter {
    uint32_t thread, node;
    uint64_t calls;
    uint64_t first_ns;
};

struct kymo_ingest_call_slice {
    uint32_t node;
    uint32_t calls; /* that its counter does not have yet */
    uint64_t ns;
};

struct kymo_ingest_open_call {
    uint32_t script;
    uint32_t depth;
    uint32_t node;       /* once it is settled */
    uint32_t is_counted; /* it is a call, not a resumption */
    uint64_t begin_ns;
    uint64_t self_from_ns, self_ns; /* self time that waits */
};

struct kymo_ingest_call_thread {
    KYMO_VEC(struct kymo_ingest_open_call) open; /* calls that run, the outermost first */
    size_t settled;                              /* so many of them, the outermost ones */
    uint64_t last_ns;                            /* of the last event */
    uint32_t window;                             /* number of the one that is open; 0: none is */
    uint32_t events;                             /* in it */
    uint64_t begin_ns;                           /* of it */
    KYMO_VEC(struct kymo_ingest_call_slice) slices;
};

struct kymo_ingest_calls {
    kymo_id_map index; /* of nodes: by caller's node + 1 and script */
    struct kymo_ingest_call_pair recent[KYMO_CALLS_RECENT]; /* of that index */
    KYMO_VEC(struct kymo_ingest_call_node) nodes;
    KYMO_VEC(struct kymo_ingest_call_thread) threads; /* by thread */
    kymo_id_map counter_index;                        /* by thread and node */
    KYMO_VEC(struct kymo_ingest_call_counter) counters;
    uint64_t min_ns;     /* of a call that is not left out */
    int folds;           /* a function that calls itself is one frame */
    uint64_t left_out;   /* calls and resumptions that were shorter */
    uint64_t expected;   /* events of the recording; 0: not known */
    uint64_t events;     /* so far */
    uint64_t rows;       /* samples so far */
    uint32_t per_window; /* events; 0: no event was yet */
    uint32_t windows;    /* begun so far */
};

/* Before the first event: how many events of calls the recording has. */
void kymo_ingest_expect_calls(kymo_ingest *ingest, uint64_t events);

/* ---- for ingest.c and ingest_finish.c ---- */

/* Ends the calls that still run; the ends of threads are known by then. */
KYMO_NODISCARD
kymo_err kymo_ingest_finish_calls(kymo_ingest *ingest);
void kymo_ingest_calls_deinit(struct kymo_ingest_calls *calls);

#endif
