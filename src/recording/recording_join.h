/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_join.h - makes one stream of events of the intervals of one recording.
 *
 * Layer:    recording
 * Flow:     recording_decode*.c, interval after interval -> [join] -> a kymo_event_handler
 * Threads:  one owner
 * Memory:   the caller's structure; from init to deinit it owns some numbers for each process and
 *           thread, and 32 bytes for each marker that begins an interval
 * Signals:  not for handlers
 *
 * An interval repeats what it needs of earlier ones: definitions, which the decoder drops by their
 * ids; and the current state (live allocations, labels, open calls, begins of markers), which is
 * dropped here. Its figures count from its own begin: here they are added up.
 */
#ifndef KYMO_RECORDING_RECORDING_JOIN_H
#define KYMO_RECORDING_RECORDING_JOIN_H

#include "base/hash.h"
#include "base/key_map.h"
#include "base/vec.h"
#include "recording/open_calls.h"
#include "recording/recording.h"

#define KYMO_JOIN_FIGURES 5u

/* A figure event of a process: its values in the present interval, and in those before it. */
struct kymo_join_figures {
    uint64_t now[KYMO_JOIN_FIGURES];
    uint64_t before[KYMO_JOIN_FIGURES];
};

/* CPU time of samples. */
struct kymo_join_cpu {
    uint64_t now_ns, before_ns;
};

struct kymo_join_thread {
    uint32_t process;
    struct kymo_join_cpu cpu;
    uint64_t label_ns;        /* time of its last label */
    uint64_t label_before_ns; /* of the last one before the present interval; 0: none */
};

/* A marker that begins an interval of the program. */
struct kymo_join_begin {
    uint64_t thread_site, id, time_ns;
};

struct kymo_recording_join {
    const kymo_event_handler *to;
    void *context;
    uint32_t interval; /* number of the present one, from 0 */
    KYMO_VEC(struct kymo_join_thread) threads;
    KYMO_VEC(struct kymo_join_cpu) processes;
    KYMO_VEC(uint8_t) has_image; /* by module */
    KYMO_VEC(struct kymo_join_figures) figures;
    kymo_key_map figure_places; /* by kind, process and number */
    KYMO_VEC(struct kymo_join_begin) begins;
    kymo_index begin_index;
    struct kymo_open_calls open_calls;
};

extern const kymo_event_handler kymo_recording_join_handler; /* its context: the join */

void kymo_recording_join_init(struct kymo_recording_join *join, const kymo_event_handler *to,
                              void *context);
void kymo_recording_join_deinit(struct kymo_recording_join *join);
/* The next interval begins. */
void kymo_recording_join_next(struct kymo_recording_join *join);

#endif
