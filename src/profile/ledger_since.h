/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_since.h - what blocks did between the moment that an allocator spoke of and another one.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     rows of blocks -> [ledger_since] -> ledger_make.c
 * Threads:  one owner at a time
 * Memory:   four words for each block that came or went between, for a moment
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_LEDGER_SINCE_H
#define KYMO_PROFILE_LEDGER_SINCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/profile.h"

/* Of a growth that is estimated: what is beyond is hardly chance. */
#define KYMO_LEDGER_DEVIATIONS 3

struct kymo_ledger_since {
    double grown;    /* bytes in blocks, more than when the allocator spoke */
    double variance; /* of that */
    double rise;     /* the largest on the way, and so many deviations: it may have taken so much */
    double fall;     /* as rise: it may have kept so much */
};

static inline int kymo_ledger_lives_at(const kymo_allocation *row, uint64_t time_ns)
{
    return row->time_ns <= time_ns && time_ns < row->end_ns;
}

/* rows: in any order; weights: one for each. header_bytes: what each block has beyond its slack.
 * said_ns may be before time_ns or after it. */
KYMO_NODISCARD
kymo_err kymo_ledger_since_sum(const kymo_allocation *rows, const double *weights, size_t count,
                               uint32_t header_bytes, uint64_t said_ns, uint64_t time_ns,
                               struct kymo_ledger_since *out);

#endif
