/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_thin.h - keeps a sample of the allocations of a large recording, as if it had been
 * recorded with a larger sampling rate.
 *
 * Layer:    profile
 * Flow:     symbolize/load.c: a first reading -> [count] -> a rate -> ingest_heap.c of the second
 * Threads:  the ingest's
 * Memory:   none
 * Signals:  not for handlers
 *
 * A row of an allocation takes about 130 bytes in memory, and 10 in the file. So if a recording has
 * more than KYMO_THIN_ROWS of them, only a random sample is kept, chosen in the way in which the
 * hooks sample: an allocation of n bytes is kept with p = 1 - e^(-n/rate). estimate.h describes
 * weights, intervals, and how totals are calibrated to exact counts. The same recording is always
 * thinned in the same way.
 */
#ifndef KYMO_PROFILE_INGEST_THIN_H
#define KYMO_PROFILE_INGEST_THIN_H

#include <stdint.h>

#include "profile/ingest.h"
#include "recording/events.h"

#define KYMO_THIN_ROWS 2000000u

/* What a recording has of allocations and traced calls; all zero at first. */
struct kymo_thin_count {
    uint64_t rows;                 /* allocations and resizes */
    uint64_t inherits;             /* allocations that forked processes inherited */
    uint64_t calls;                /* events of traced calls */
    double objects[64], bytes[64]; /* sums that the rows count for, by powers of two of bytes */
};

/* Counts them; ctx: the structure. */
extern const kymo_event_handler kymo_thin_count_handler;

/* The smallest rate at which there are at most `most` rows; 0: thinning is not needed. */
uint64_t kymo_thin_rate(const struct kymo_thin_count *count, uint64_t most);

/* Call before the first event: thins to this rate; 0: keeps all. */
void kymo_ingest_thin(kymo_ingest *ingest, uint64_t rate);

/* ---- for ingest_heap.c ---- */

struct kymo_ingest_thin {
    uint64_t rate;           /* 0: all rows are kept */
    uint64_t seen, left_out; /* rows */
};

/* Whether this allocation is kept; if so, changes it to what would have been recorded. */
int kymo_ingest_thin_allocation(struct kymo_ingest_thin *thin, kymo_event_allocation *e);
/* is_kept: its allocation is known and kept; else it may still come. Returns 0 if the resize is
 * to be ignored. */
int kymo_ingest_thin_resize(struct kymo_ingest_thin *thin, kymo_event_resize *e, int is_kept);
/* Adds a note if anything was left out. */
KYMO_NODISCARD
kymo_err kymo_ingest_thin_note(kymo_ingest *ingest);

#endif
