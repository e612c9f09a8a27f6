/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - sums up a profile: the functions, lines, files, modules, threads or processes that it
 * was spent in, and the tree of calls.
 *
 * Flow:     profile -> [report] -> your program, `kymo report`
 * Threads:  a report has one owner at a time
 * Memory:   a report borrows its profile, which must outlive it and stay as it is; the text of its
 *           rows lives until kymo_report_destroy
 * Signals:  not for handlers
 */
#ifndef KYMO_REPORT_H
#define KYMO_REPORT_H

#include "kymo/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kymo_report kymo_report;

/* What a row stands for. Functions that were inlined are functions of their own. */
typedef enum kymo_report_by {
    KYMO_BY_FUNCTION = 0,
    KYMO_BY_LINE,
    KYMO_BY_FILE,
    KYMO_BY_THREAD,
    KYMO_BY_MODULE,
    KYMO_BY_PROCESS,
    KYMO_BY_COUNT
} kymo_report_by;

typedef struct kymo_report_options {
    uint32_t size;
    uint32_t by;   /* kymo_report_by */
    uint32_t kind; /* kymo_sample_kind: the samples that are counted */
} kymo_report_options;

/* One row. `self` is the weight of the samples whose innermost frame it is, `total` of those that
 * have it anywhere in their stack: counted once, however often it calls itself. Code without
 * symbols is summed up by its file as "[FILE]", code outside every file as "[generated code]",
 * and samples without a stack as "[no stack]". */
typedef struct kymo_report_row {
    const char *name;   /* function, path of the source, name of the module, "NAME (TID)" of a
                         * thread, or name of all processes that are called so */
    const char *file;   /* source; NULL: not known, or not one */
    const char *module; /* name of the mapped file; NULL: none, or not one */
    uint32_t line;      /* the function's first line, or the row's own by line; 0: not known */
    uint64_t self;      /* nanoseconds */
    uint64_t total;     /* nanoseconds */
} kymo_report_row;

/* One node of the tree of calls, in the order to print it: a node before its children, children
 * from the largest to the smallest. */
typedef struct kymo_report_node {
    uint32_t row;   /* its function */
    uint32_t depth; /* 0: called by nobody */
    uint64_t self;
    uint64_t total;
} kymo_report_node;

/* How well one thread was sampled. Ratios are NAN where they do not apply. */
typedef struct kymo_report_thread {
    uint32_t thread;     /* id in the profile */
    uint64_t samples;    /* of the kind that is counted */
    uint64_t weight;     /* their sum, in nanoseconds */
    double achieved;     /* weight / CPU time of the thread */
    double sampled_rate; /* samples / (CPU time / period) */
} kymo_report_thread;

/* profile: finished. options NULL: CPU samples by function. KYMO_E_INVALID for an unknown by or
 * kind, or a profile that is not finished; KYMO_E_NOMEM. */
KYMO_API kymo_err kymo_report_create(const kymo_profile *profile,
                                     const kymo_report_options *options, kymo_report **out);
/* NULL is allowed. */
KYMO_API void kymo_report_destroy(kymo_report *report);

/* The sum of all weights that are counted, in nanoseconds. */
KYMO_API uint64_t kymo_report_total(const kymo_report *report);
/* Rows from the largest self to the smallest; of equal ones the one with the larger total first,
 * then by name. */
KYMO_API const kymo_report_row *kymo_report_rows(const kymo_report *report, size_t *count);
/* The tree; of no nodes by thread or process. */
KYMO_API const kymo_report_node *kymo_report_nodes(const kymo_report *report, size_t *count);
/* Every thread of the profile, in the order to show them. */
KYMO_API const kymo_report_thread *kymo_report_threads(const kymo_report *report, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
