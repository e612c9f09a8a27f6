/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - sums up a profile: the functions, lines, files, modules, threads or processes that it
 * was spent in, the tree of calls, and its markers and counters.
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

/* ---- markers and counters ---- */

typedef struct kymo_marker_report kymo_marker_report;

/* What a row of markers stands for. */
typedef enum kymo_marker_report_by {
    KYMO_MARKERS_BY_NAME = 0, /* and category */
    KYMO_MARKERS_BY_CATEGORY,
    KYMO_MARKERS_BY_TYPE,
    KYMO_MARKERS_BY_THREAD,
    KYMO_MARKERS_BY_COUNT
} kymo_marker_report_by;

/* Of durations: bucket 0 is below 64 ns, bucket i from 2^(i+5) ns up to twice that, the last one
 * all that is longer. */
#define KYMO_HISTOGRAM_BUCKETS 32u
#define KYMO_HISTOGRAM_FIRST_NS 64u

typedef struct kymo_marker_row {
    const char *name;     /* or type, category "A / B", thread "NAME (TID)" */
    const char *category; /* by name: "A / B"; else, and where there is none, NULL */
    uint64_t count;       /* all of them */
    uint64_t intervals;   /* those of which both ends are known: all that follows is theirs */
    uint64_t total_ns;
    uint64_t min_ns;
    uint64_t p50_ns; /* so many percent are not longer; exact */
    uint64_t p95_ns;
    uint64_t max_ns;
    uint64_t histogram[KYMO_HISTOGRAM_BUCKETS];
    uint64_t unfinished; /* intervals of which one end is not known */
    uint64_t lost;   /* not recorded, for want of room; by thread not known: 0, as the next two */
    uint64_t capped; /* not recorded, above the type's limit */
    uint64_t cut;    /* texts that were too long */
} kymo_marker_row;

typedef struct kymo_counter_row {
    uint32_t counter; /* id in the profile */
    uint32_t count;   /* values that are known of it */
    int64_t first;
    int64_t last;
    int64_t min;
    int64_t max;
    uint64_t operations;
} kymo_counter_row;

/* profile: finished. KYMO_E_INVALID for an unknown by, or a profile that is not finished;
 * KYMO_E_NOMEM. */
KYMO_API kymo_err kymo_marker_report_create(const kymo_profile *profile, kymo_marker_report_by by,
                                            kymo_marker_report **out);
/* NULL is allowed. */
KYMO_API void kymo_marker_report_destroy(kymo_marker_report *report);
/* Rows from the largest total to the smallest; of equal ones the one with more markers first, then
 * by name. */
KYMO_API const kymo_marker_row *kymo_marker_report_rows(const kymo_marker_report *report,
                                                        size_t *count);
/* The sum of all rows; its times are those of all intervals. name is "". */
KYMO_API const kymo_marker_row *kymo_marker_report_all(const kymo_marker_report *report);
/* Counters that have values, in the order of the profile. */
KYMO_API const kymo_counter_row *kymo_marker_report_counters(const kymo_marker_report *report,
                                                             size_t *count);

#ifdef __cplusplus
}
#endif

#endif
