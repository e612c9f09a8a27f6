/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate.h - the one aggregator of reports, and what it asks of what it adds up.
 *
 * Layer:    views, private to the stage
 * Flow:     samples -> aggregate_time.c, blocks -> aggregate_heap.c -> [aggregate] -> kymo/report.h
 * Threads:  one owner at a time
 * Memory:   a report borrows its profile
 * Signals:  not for handlers
 *
 * A measure yields items. Each has a sum, and a slot of the tree of calls (call_tree.h): the stack,
 * thread, process or class of sizes that it counts for.
 */
#ifndef KYMO_VIEWS_AGGREGATE_H
#define KYMO_VIEWS_AGGREGATE_H

#include "views/call_tree.h"
#include "views/heap_select.h"

/* Where a walk over the items is; begins as zeros. */
struct kymo_report_cursor {
    struct kymo_heap_cursor heap;
    struct kymo_heap_item item;
    uint32_t slot;
};

/* What is shown of the two sums of a row or node, and what is beyond whole units: it decides the
 * order of rows that show the same. */
struct kymo_report_shown {
    uint64_t self, total;
    double self_part, total_part;
};

struct kymo_measure {
    size_t size; /* of a sum, which is empty when it is zeros */
    void (*merge)(void *sum, const void *other);
    /* The next item; 0: there is no more. The same again for each walk. *sum lives until the next
     * call. */
    int (*next)(const kymo_report *report, struct kymo_report_cursor *cursor, uint32_t *slot,
                const void **sum);
    /* memory: where to put both sums with their intervals; NULL for a measure of time. */
    struct kymo_report_shown (*show)(const kymo_report *report, const void *self, const void *total,
                                     kymo_heap_sums *memory);
    /* Once the tree is there, before the rows are made; NULL: nothing. node_of: by slot. */
    kymo_err (*complete)(kymo_report *report, const uint32_t *node_of);
};

struct kymo_report {
    const kymo_profile *profile;
    kymo_report_options options; /* kind: of the samples by thread */
    const kymo_sample_type *type;
    const struct kymo_measure *measure;
    struct kymo_call_tree tree; /* while the report is made, but for names */

    KYMO_VEC(kymo_report_row) rows;
    KYMO_VEC(kymo_report_node) nodes; /* as they are printed */
    KYMO_VEC(kymo_report_thread) threads;
    kymo_report_process *processes;
    size_t n_processes;
    uint64_t total;

    uint64_t *weights; /* of time, while it is made: by slot */

    int is_memory;
    struct kymo_heap_selection selection; /* while it is made */
    kymo_heap_sums *memory;               /* of nodes, then of rows, by their places in the tree */
    double (*lifetimes)[KYMO_LIFETIME_BUCKETS]; /* by row of the tree, and of all; or NULL */
    kymo_heap_totals totals;
};

/* Checks what all reports are asked alike, and makes an empty one: of samples, not of memory.
 * KYMO_E_INVALID, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_report_begin(const kymo_profile *profile, const kymo_report_options *options,
                           const struct kymo_measure *measure, kymo_report **out);
/* Fills a report that has what its measure needs, or destroys it if it fails. */
KYMO_NODISCARD
kymo_err kymo_report_finish(kymo_report *report, kymo_report **out);

/* aggregate_time.c: fills threads from the samples of options.kind; and weights, if it is there. */
KYMO_NODISCARD
kymo_err kymo_report_sum_samples(kymo_report *report);

/* aggregate_processes.c: accounts for all CPU time by the names of processes. threads: what was
 * counted of each thread of the profile, CPU samples. *rows is the caller's to free; names are the
 * profile's. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_aggregate_processes(const kymo_profile *profile, const kymo_report_thread *threads,
                                  size_t n_threads, kymo_report_process **rows, size_t *count);

#endif
