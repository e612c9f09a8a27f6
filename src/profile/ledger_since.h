/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_since.h - how the sum of allocations changed between the allocator's count and another
 * time.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     rows of allocations -> [ledger_since] -> ledger_make.c
 * Threads:  one owner at a time
 * Memory:   four temporary words for each allocation that began or ended in between
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_LEDGER_SINCE_H
#define KYMO_PROFILE_LEDGER_SINCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/profile.h"

/* Standard deviations of an estimated growth that are taken as its bound. */
#define KYMO_LEDGER_DEVIATIONS 3

struct kymo_ledger_since {
    double grown;    /* growth of bytes in allocations since the allocator's count */
    double variance; /* variance of `grown` */
    double rise;     /* the highest rise in between, plus deviations: the most it may have taken */
    double fall;     /* as rise, for a fall: the most it may have kept */
};

static inline int kymo_ledger_lives_at(const kymo_allocation *row, uint64_t time_ns)
{
    return row->time_ns <= time_ns && time_ns < row->end_ns;
}

/* rows: in any order; weights: one for each row. header_bytes: what each allocation needs beyond
 * its slack. said_ns, the time of the allocator's count, may be before or after time_ns. */
KYMO_NODISCARD
kymo_err kymo_ledger_since_sum(const kymo_allocation *rows, const double *weights, size_t count,
                               uint32_t header_bytes, uint64_t said_ns, uint64_t time_ns,
                               struct kymo_ledger_since *out);

#endif
