/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_select.h - the blocks that a view of the heap takes, one by one, and what each counts for.
 *
 * Layer:    views
 * Flow:     rows of allocations, mappings -> [heap_select] -> aggregate_heap.c, encode/
 * Threads:  one owner at a time
 * Memory:   borrows its profile; a weight by block
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_HEAP_SELECT_H
#define KYMO_VIEWS_HEAP_SELECT_H

#include "base/error.h"
#include "kymo/report.h"
#include "profile/estimate.h"

/* The table of one process. */
struct kymo_heap_table {
    const kymo_allocation *blocks;
    const kymo_mapping *mappings; /* of the view of them, instead */
    size_t count;
    double *weights; /* of blocks */
    uint64_t end_ns; /* of the process; KYMO_LIVES: it was not seen to end */
    uint64_t min_age_ns;
    uint64_t young_ns; /* of leaks: births after this are too late */
};

struct kymo_heap_selection {
    const kymo_profile *profile;
    kymo_heap_report_options options; /* with what was left open */
    struct kymo_heap_table *tables;   /* by process */
    uint32_t n_tables;
    uint64_t min_age_ns;            /* the largest of all tables */
    size_t count;                   /* of what is selected */
    struct kymo_estimate sum;       /* of it */
    struct kymo_estimate_whole all; /* of all blocks */
    struct kymo_estimate young;     /* of leaks: left out for their age */
    struct kymo_estimate elsewhere; /* of lifetimes: freed by another thread */
};

/* Where a walk is; begins as zeros. */
struct kymo_heap_cursor {
    uint32_t table;
    size_t row;
};

struct kymo_heap_item {
    uint32_t process;
    uint32_t thread;
    uint32_t stack;   /* KYMO_NONE: none */
    uint64_t size;    /* bytes of one block */
    uint64_t life_ns; /* of a block that was freed */
    int is_elsewhere; /* it was freed by another thread */
    struct kymo_estimate sum;
};

KYMO_NODISCARD
kymo_err kymo_heap_select_init(struct kymo_heap_selection *selection, const kymo_profile *profile,
                               const kymo_heap_report_options *options);
void kymo_heap_select_deinit(struct kymo_heap_selection *selection);

/* The next one; 0: there is no more. The same again for each walk. */
int kymo_heap_select_next(const struct kymo_heap_selection *selection,
                          struct kymo_heap_cursor *cursor, struct kymo_heap_item *item);

/* What one block, by its place in its process's table, is in the view (nothing: it is not taken),
 * and what it adds to all that was asked for. */
struct kymo_estimate kymo_heap_select_block(const struct kymo_heap_selection *selection,
                                            uint32_t process, size_t row,
                                            struct kymo_estimate *allocated);
/* The same of one mapping, in the view of them. */
struct kymo_estimate kymo_heap_select_mapping(const struct kymo_heap_selection *selection,
                                              uint32_t process, size_t row,
                                              struct kymo_estimate *mapped);

/* What the shares and the order of rows are of, in this view: short-lived blocks cost by their
 * number, others by their bytes. */
double kymo_heap_rank(uint32_t view, const kymo_heap_sum *sum);

#endif
