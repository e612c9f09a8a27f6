/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate.h - the aggregator of all reports, and the interface of what it adds up.
 *
 * Layer:    views, private to the stage
 * Flow:     samples -> aggregate_time.c, allocations -> aggregate_heap.c -> [aggregate] ->
 *           kymo/report.h
 * Threads:  one owner at a time
 * Memory:   a report borrows its profile
 * Signals:  not for handlers
 *
 * A measure yields items. Each has a sum and a slot of the tree of calls (call_tree.h): a stack,
 * thread, process or size class.
 */
#ifndef KYMO_VIEWS_AGGREGATE_H
#define KYMO_VIEWS_AGGREGATE_H

#include "views/call_tree.h"
#include "views/heap_select.h"

/* Position of a pass over the items; all zero at first. */
struct kymo_report_cursor {
    struct kymo_heap_cursor heap;
    struct kymo_heap_item item;
    uint32_t slot;
};

/* The displayed values of the two sums of a row or node, and their fractions beyond whole units,
 * which order rows with equal values. */
struct kymo_report_shown {
    uint64_t self, total;
    double self_part, total_part;
};

struct kymo_measure {
    size_t size; /* of a sum; all zero is an empty sum */
    void (*merge)(void *sum, const void *other);
    /* The next item; 0: the end. Each pass gives the same items. *sum is valid until the next
     * call. */
    int (*next)(const kymo_report *report, struct kymo_report_cursor *cursor, uint32_t *slot,
                const void **sum);
    /* For memory: where to put both sums with their intervals; NULL for a measure of time. */
    struct kymo_report_shown (*show)(const kymo_report *report, const void *self, const void *total,
                                     kymo_heap_sums *memory);
    /* Called when the tree is complete, before rows are made; may be NULL. node_of: by slot. */
    kymo_err (*complete)(kymo_report *report, const uint32_t *node_of);
};

struct kymo_report {
    const kymo_profile *profile;
    kymo_report_options options; /* kind: of the samples that count by thread */
    const kymo_sample_type *type;
    const struct kymo_measure *measure;
    struct kymo_call_tree tree; /* only names remain when the report is complete */

    KYMO_VEC(kymo_report_row) rows;
    KYMO_VEC(kymo_report_node) nodes; /* in order of printing */
    KYMO_VEC(kymo_report_thread) threads;
    kymo_report_process *processes;
    size_t n_processes;
    uint64_t total;

    uint64_t *weights; /* of time, while the report is made: by slot */

    int is_memory;
    struct kymo_heap_selection selection;       /* while the report is made */
    kymo_heap_sums *memory;                     /* of nodes, then of rows, by index in the tree */
    double (*lifetimes)[KYMO_LIFETIME_BUCKETS]; /* by row of the tree, then of the whole; or NULL */
    kymo_heap_totals totals;
};

/* Checks the options that all reports share, and makes an empty report: of samples, not of
 * memory. KYMO_E_INVALID, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_report_begin(const kymo_profile *profile, const kymo_report_options *options,
                           const struct kymo_measure *measure, kymo_report **out);
/* Fills a report whose measure is complete; destroys it on failure. */
KYMO_NODISCARD
kymo_err kymo_report_finish(kymo_report *report, kymo_report **out);

/* aggregate_time.c: sets threads from the samples of options.kind; and weights unless NULL. */
KYMO_NODISCARD
kymo_err kymo_report_sum_samples(kymo_report *report);

/* aggregate_processes.c: divides all CPU time among the names of processes. threads: sums of the
 * CPU samples of each thread of the profile. The caller frees *rows; names belong to the
 * profile. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_aggregate_processes(const kymo_profile *profile, const kymo_report_thread *threads,
                                  size_t n_threads, kymo_report_process **rows, size_t *count);

#endif
