/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_thin.h - fewer rows of allocations than a large recording has, as if it had been recorded
 * at a larger rate.
 *
 * Layer:    profile
 * Flow:     symbolize/load.c: a first reading -> [count] -> a rate -> ingest_heap.c of the second
 * Threads:  the ingest's
 * Memory:   none
 * Signals:  not for handlers
 *
 * A row of an allocation takes some 130 bytes here, and 10 in the file. So of a recording with more
 * of them than KYMO_THIN_ROWS some are left out, by chance, in the way in which the hooks draw at a
 * rate: a block of n bytes is kept with p = 1 - e^(-n/rate). The rest is what estimate.h is for:
 * weights, intervals, and totals that are calibrated to what was counted. The same recording is
 * thinned in the same way each time.
 */
#ifndef KYMO_PROFILE_INGEST_THIN_H
#define KYMO_PROFILE_INGEST_THIN_H

#include <stdint.h>

#include "profile/ingest.h"
#include "recording/events.h"

#define KYMO_THIN_ROWS 2000000u

/* What a recording has of allocations; begins as zeros. */
struct kymo_thin_count {
    uint64_t rows;                 /* allocations and resizes */
    uint64_t inherits;             /* blocks that forked processes were born with */
    double objects[64], bytes[64]; /* that the rows stand for, by powers of two of bytes */
};

/* Counts them; ctx: the structure. */
extern const kymo_event_handler kymo_thin_count_handler;

/* The least rate at which there are at most so many rows; 0: as it is. */
uint64_t kymo_thin_rate(const struct kymo_thin_count *count, uint64_t most);

/* Before the first event: thins to this rate; 0: not at all. */
void kymo_ingest_thin(kymo_ingest *ingest, uint64_t rate);

/* ---- for ingest_heap.c ---- */

struct kymo_ingest_thin {
    uint64_t rate;           /* 0: nothing is left out */
    uint64_t seen, left_out; /* rows */
};

/* Whether this one stays; if so, as it would have been recorded. */
int kymo_ingest_thin_allocation(struct kymo_ingest_thin *thin, kymo_event_allocation *e);
/* is_kept: its block is there; else it may come yet. Returns 0 if there is nothing to tell of it.
 */
int kymo_ingest_thin_resize(struct kymo_ingest_thin *thin, kymo_event_resize *e, int is_kept);
/* Says it, if anything was left out. */
KYMO_NODISCARD
kymo_err kymo_ingest_thin_note(kymo_ingest *ingest);

#endif
