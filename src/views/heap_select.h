/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_select.h - iterates over the allocations that a view of the heap selects, with their
 * weights.
 *
 * Layer:    views
 * Flow:     rows of allocations, mappings -> [heap_select] -> aggregate_heap.c, encode/
 * Threads:  one owner at a time
 * Memory:   borrows its profile; a weight by allocation
 * Memory:   borrows its profile; a weight for each allocation
 */
#ifndef KYMO_VIEWS_HEAP_SELECT_H
#define KYMO_VIEWS_HEAP_SELECT_H

#include "base/error.h"
#include "kymo/report.h"
#include "profile/estimate.h"

/* The table of one process. */
struct kymo_heap_table {
    const kymo_allocation *blocks;
    const kymo_mapping *mappings; /* used instead in the view of mappings */
    size_t count;
    double *weights; /* of allocations */
    uint64_t end_ns; /* of the process; KYMO_LIVES: no end was recorded */
    uint64_t min_age_ns;
    uint64_t young_ns; /* for leaks: later allocations are too young */
};

struct kymo_heap_selection {
    const kymo_profile *profile;
    kymo_heap_report_options options; /* with defaults filled in */
    struct kymo_heap_table *tables;   /* by process */
    uint32_t n_tables;
    uint64_t min_age_ns;            /* the largest of all tables */
    size_t count;                   /* of selected rows */
    struct kymo_estimate sum;       /* of selected rows */
    struct kymo_estimate_whole all; /* of all allocations */
    struct kymo_estimate young;     /* for leaks: not selected because of their age */
    struct kymo_estimate elsewhere; /* for lifetimes: freed by another thread */
};

/* Position of a pass; all zero at first. */
struct kymo_heap_cursor {
    uint32_t table;
    size_t row;
};

struct kymo_heap_item {
    uint32_t process;
    uint32_t thread;
    uint32_t stack;   /* KYMO_NONE: none */
    uint64_t size;    /* bytes of one allocation */
    uint64_t life_ns; /* lifetime of one that was freed */
    int is_elsewhere; /* freed by another thread than its own */
    struct kymo_estimate sum;
};

KYMO_NODISCARD
kymo_err kymo_heap_select_init(struct kymo_heap_selection *selection, const kymo_profile *profile,
                               const kymo_heap_report_options *options);
void kymo_heap_select_deinit(struct kymo_heap_selection *selection);

/* The next row; 0: the end. Each pass gives the same rows. */
int kymo_heap_select_next(const struct kymo_heap_selection *selection,
                          struct kymo_heap_cursor *cursor, struct kymo_heap_item *item);

/* What one allocation, by its index in its process's table, counts for in the view (zero if it
 * is not selected), and what it adds to all allocated memory. */
struct kymo_estimate kymo_heap_select_block(const struct kymo_heap_selection *selection,
                                            uint32_t process, size_t row,
                                            struct kymo_estimate *allocated);
/* The same for a mapping, in the view of mappings. */
struct kymo_estimate kymo_heap_select_mapping(const struct kymo_heap_selection *selection,
                                              uint32_t process, size_t row,
                                              struct kymo_estimate *mapped);

/* The value that shares and the order of rows are based on: for short-lived allocations their
 * number, else bytes. */
double kymo_heap_rank(uint32_t view, const kymo_heap_sum *sum);

#endif
