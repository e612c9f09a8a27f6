/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_walk.h - the blocks of one process as they come and go, and what each of them counts for.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     rows of kymo_allocation, by time -> [heap_walk] -> heap_select.c, encode/
 * Threads:  one owner at a time
 * Memory:   four bytes for each row that ends; the rows are the caller's, and stay as they are
 * Signals:  not for handlers
 *
 * The blocks that were drawn count as they were when last seen. A block that was resized has one
 * row for each of its sizes and another weight in each, all of which are right on average; the last
 * one is that of all its rows here. So a block is one allocation, however often it was resized, and
 * no row takes back what another one counted.
 */
#ifndef KYMO_PROFILE_HEAP_WALK_H
#define KYMO_PROFILE_HEAP_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/profile.h"

/* ---- one row ---- */

/* The row that it was before a resize; NULL: it begins a block. */
static inline const kymo_allocation *kymo_allocation_before(const kymo_allocation *rows, size_t i)
{
    return rows[i].previous < i ? &rows[rows[i].previous] : NULL;
}

/* Blocks and bytes that this row adds to what its process allocated, for one of those that it
 * stands for: a resize is no allocation, but asks for what it grows by; what a child was born with
 * was its parent's to allocate. */
static inline unsigned kymo_allocation_adds(const kymo_allocation *rows, size_t i, uint64_t *bytes)
{
    const kymo_allocation *before = kymo_allocation_before(rows, i);
    uint64_t had = before ? before->bytes : 0;
    *bytes = rows[i].origin != KYMO_ORIGIN_HERE || rows[i].bytes <= had ? 0 : rows[i].bytes - had;
    return !before && rows[i].origin == KYMO_ORIGIN_HERE;
}

/* By row, the weight of its block when it was last seen. NULL: no memory. */
double *kymo_heap_last_weights(const kymo_allocation *rows, size_t count);

/* ---- all of them ---- */

/* Births and ends in the order of their times. Of one time, what was there before goes before
 * anything new comes, as a resize has it. */
typedef struct kymo_heap_walk {
    const kymo_allocation *rows;
    size_t count;
    uint32_t *ends; /* rows that end, by when they do */
    size_t end_count;
    size_t next_birth;
    size_t next_end;
} kymo_heap_walk;

typedef struct kymo_heap_step {
    uint64_t time_ns;
    uint32_t row;
    int is_end;
} kymo_heap_step;

/* rows: as kymo_profile_allocations gives them. KYMO_E_NOMEM leaves nothing to deinit. */
KYMO_NODISCARD
kymo_err kymo_heap_walk_init(kymo_heap_walk *walk, const kymo_allocation *rows, size_t count);
void kymo_heap_walk_deinit(kymo_heap_walk *walk);
void kymo_heap_walk_rewind(kymo_heap_walk *walk);
/* 0: there is no more. */
int kymo_heap_walk_next(kymo_heap_walk *walk, kymo_heap_step *step);

#endif
