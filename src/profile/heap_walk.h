/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_walk.h - walks the allocations and frees of one process by time; the weight of each.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     rows of kymo_allocation, by time -> [heap_walk] -> heap_select.c, encode/
 * Threads:  one owner at a time
 * Memory:   four bytes for each row that ends; the rows are the caller's, and stay as they are
 * Signals:  not for handlers
 *
 * A sampled allocation counts with its last weight. A resize gives a new row with the new size and
 * a new weight. Each of these weights is right on average; here the last one is used for all rows
 * of the allocation. So one allocation counts once, however often it was resized, and no row
 * subtracts what another row has added.
 */
#ifndef KYMO_PROFILE_HEAP_WALK_H
#define KYMO_PROFILE_HEAP_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/profile.h"

/* ---- one row ---- */

/* The row before the resize that made this row; NULL: this row begins an allocation. */
static inline const kymo_allocation *kymo_allocation_before(const kymo_allocation *rows, size_t i)
{
    return rows[i].previous < i ? &rows[rows[i].previous] : NULL;
}

/* Allocations and bytes that this row adds to what its process allocated, per allocation that it
 * counts for. A resize adds no allocation, and only the bytes that it grew by. What a forked
 * child inherited was allocated by its parent. */
static inline unsigned kymo_allocation_adds(const kymo_allocation *rows, size_t i, uint64_t *bytes)
{
    const kymo_allocation *before = kymo_allocation_before(rows, i);
    uint64_t had = before ? before->bytes : 0;
    *bytes = rows[i].origin != KYMO_ORIGIN_HERE || rows[i].bytes <= had ? 0 : rows[i].bytes - had;
    return !before && rows[i].origin == KYMO_ORIGIN_HERE;
}

/* By row: the last weight of its allocation. NULL: no memory. */
double *kymo_heap_last_weights(const kymo_allocation *rows, size_t count);

/* ---- all rows ---- */

/* Begins and ends in order of time. At equal times ends come before begins, as in a resize. */
typedef struct kymo_heap_walk {
    const kymo_allocation *rows;
    size_t count;
    uint32_t *ends; /* rows that end, by end time */
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
/* Returns 0 at the end. */
int kymo_heap_walk_next(kymo_heap_walk *walk, kymo_heap_step *step);

#endif
