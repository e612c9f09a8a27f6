/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_intervals.h - the intervals of a process that have begun and not ended.
 *
 * Layer:    recording
 * Flow:     recording_write_rows.c (each marker) -> [open_intervals] -> recording_kept.c, at the
 *           begin of a segment
 * Threads:  the writer's
 * Memory:   the owner's structure, which owns copies of names and payloads
 * Signals:  not for handlers
 *
 * An end belongs to the begin that a reader would join it with (profile/ingest_intervals.c): of its
 * id and name, else of its id alone, the latest one.
 */
#ifndef KYMO_RECORDING_OPEN_INTERVALS_H
#define KYMO_RECORDING_OPEN_INTERVALS_H

#include "base/key_map.h"
#include "base/vec.h"
#include "recording/events.h"

/* Further ones are not kept: their ends stand alone in a later segment. */
#define KYMO_OPEN_INTERVALS_MAX (1u << 20)

struct kymo_open_interval {
    kymo_event_marker begin; /* .name and .payload are its own */
    uint64_t name_hash;
    uint32_t older; /* of the same id, index + 1; in a free place, of the next free one; 0: none */
    int is_open;
};

/* Zero bytes are a valid, empty table. */
struct kymo_open_intervals {
    KYMO_VEC(struct kymo_open_interval) places; /* in order of begin, except where one is reused */
    KYMO_VEC(uint64_t) site_names;              /* hashes, by site */
    kymo_key_map latest;                        /* by id: index of a place */
    uint32_t free;                              /* index + 1 of a free place; 0: none */
};

/* Notes the name of a site. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_open_intervals_site(struct kymo_open_intervals *open, const kymo_event_site *e);
/* Adds the interval that a marker begins, or removes the one that it ends. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_open_intervals_take(struct kymo_open_intervals *open, const kymo_event_marker *e);
void kymo_open_intervals_deinit(struct kymo_open_intervals *open);

#endif
