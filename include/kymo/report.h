/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - sums up a profile: the functions, lines, files, modules, threads or processes that it
 * was spent in, the tree of calls, its memory, and its markers and counters.
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
    KYMO_BY_COUNT,
    KYMO_BY_SIZE = 16, /* of allocations only: a row from each power of two bytes to the next */
    KYMO_BY_STACK,     /* of differences only: "outermost;...;innermost" */
} kymo_report_by;

typedef struct kymo_report_options {
    uint32_t size;
    uint32_t by;   /* kymo_report_by */
    uint32_t kind; /* sample type that is counted, or KYMO_SAMPLE_DEFAULT */
} kymo_report_options;

/* What so many samples stand for, and the intervals that hold the truth with 95 %; where each
 * allocation was recorded, these are the sums themselves. */
typedef struct kymo_heap_sum {
    double objects, objects_low, objects_high;
    double bytes, bytes_low, bytes_high;
    double objects_variance, bytes_variance; /* to be added where sums are */
    uint64_t samples;
} kymo_heap_sum;

/* Of a row or node of memory. */
typedef struct kymo_heap_sums {
    kymo_heap_sum self;
    kymo_heap_sum total;
} kymo_heap_sums;

/* One row. `self` is the weight of the samples whose innermost frame it is, `total` of those that
 * have it anywhere in their stack: counted once, however often it calls itself. Code without
 * symbols is summed up by its file as "[FILE]", code outside every file as "[generated code]",
 * and samples without a stack as "[no stack]". */
typedef struct kymo_report_row {
    const char *name;   /* function, path of the source, name of the module, "NAME (TID)" of a
                         * thread, name of all processes that are called so, or by size "64 bytes
                         * to 128 bytes" */
    const char *file;   /* source; NULL: not known, or not one */
    const char *module; /* name of the mapped file; NULL: none, or not one */
    uint32_t line;      /* the function's first line, or the row's own by line; 0: not known */
    uint32_t reserved;
    uint64_t self;  /* in the unit of the report's type; of memory whole bytes, or whole objects
                     * where rows are in their order */
    uint64_t total; /* likewise */
    const kymo_heap_sums *memory; /* the same with intervals; NULL: not of memory */
    const double *lifetimes; /* of KYMO_HEAP_LIFETIMES: objects of self, by bucket; else NULL */
} kymo_report_row;

/* One node of the tree of calls, in the order to print it: a node before its children, children
 * from the largest to the smallest. */
typedef struct kymo_report_node {
    uint32_t row;   /* its function */
    uint32_t depth; /* 0: has no caller */
    uint64_t self;  /* as of rows */
    uint64_t total;
    const kymo_heap_sums *memory;
} kymo_report_node;

/* How well one thread was sampled. Ratios are NAN where they do not apply. */
typedef struct kymo_report_thread {
    uint32_t thread;     /* id in the profile */
    uint64_t samples;    /* of the kind that is counted; of memory, of the default type */
    uint64_t weight;     /* their sum, in nanoseconds */
    double achieved;     /* weight / CPU time of the thread, without what was dropped of it */
    double sampled_rate; /* samples / (that CPU time / period) */
} kymo_report_thread;

/* profile: finished. options NULL: samples of the default type by function. KYMO_E_INVALID for an
 * unknown by or kind, or a profile that is not finished; KYMO_E_NOMEM. */
KYMO_API kymo_err kymo_report_create(const kymo_profile *profile,
                                     const kymo_report_options *options, kymo_report **out);
/* NULL is allowed. */
KYMO_API void kymo_report_destroy(kymo_report *report);

/* What is counted: a row of the profile's table of sample types; of memory "bytes", the
 * allocations' count_name, and the view's name. */
KYMO_API const kymo_sample_type *kymo_report_type(const kymo_report *report);
/* The sum of all weights that are counted, as that of a row. */
KYMO_API uint64_t kymo_report_total(const kymo_report *report);
/* Rows from the largest self to the smallest; of equal ones the one with the larger total first,
 * then by name. Of memory by bytes, of LIFETIMES and TEMPORARY by objects; by size from the
 * smallest allocations to the largest. */
KYMO_API const kymo_report_row *kymo_report_rows(const kymo_report *report, size_t *count);
/* The tree; of no nodes by thread, process or size. */
KYMO_API const kymo_report_node *kymo_report_nodes(const kymo_report *report, size_t *count);
/* Every thread of the profile, in the order to show them. */
KYMO_API const kymo_report_thread *kymo_report_threads(const kymo_report *report, size_t *count);

/* CPU time of the processes of one name, as the kernel counts it, and how much of it no sample
 * stands for: processes that live shorter than the period mostly have none. */
typedef struct kymo_report_process {
    const char *name;
    uint32_t processes;
    uint32_t without_samples; /* processes */
    uint64_t cpu_ns;
    uint64_t unsampled_ns;
} kymo_report_process;

/* One row for each name of a process, from the most CPU time without samples to the least; none in
 * a report whose threads have samples of another type than CPU time. */
KYMO_API const kymo_report_process *kymo_report_processes(const kymo_report *report, size_t *count);

/* ---- memory ---- */

/* Which allocations are summed up. An allocation that is resized has a row for each of its sizes;
 * its stack is that of the call that asked for the present one, its age and life go back to its
 * birth. */
typedef enum kymo_heap_view {
    KYMO_HEAP_ALLOC = 0, /* all that was asked for: a resize counts by what the allocation grew */
    KYMO_HEAP_LIVE,      /* those that are there at a moment, or at the end of their process */
    KYMO_HEAP_PEAK,      /* those that were there when the most bytes were */
    KYMO_HEAP_LEAKS,     /* those at the end that are old enough, and no fork's inheritance */
    KYMO_HEAP_LIFETIMES, /* those that were freed, with how long they lived */
    KYMO_HEAP_TEMPORARY, /* those freed before their thread allocated much else */
    KYMO_HEAP_MAPPED,    /* not allocations, but mappings, as LIVE; without the allocator's own */
    KYMO_HEAP_VIEW_COUNT
} kymo_heap_view;

#define KYMO_HEAP_END UINT64_MAX  /* a moment: the end of each process */
#define KYMO_HEAP_AUTO UINT64_MAX /* an age; see below */

typedef struct kymo_heap_report_options {
    uint32_t size;
    uint32_t view; /* kymo_heap_view */
    uint32_t by;   /* kymo_report_by, or KYMO_BY_SIZE */
    /* Of TEMPORARY: an allocation freed by its own thread before that had allocated so many others;
     * 0 is taken for 1: the next allocation comes after its end. */
    uint32_t within;
    uint64_t at_ns;      /* of LIVE, MAPPED: a time of CLOCK_MONOTONIC, or KYMO_HEAP_END */
    uint64_t without_ns; /* of LIVE: allocations that are there at this time as well are left out;
                          * 0: none are */
    /* Of LEAKS. KYMO_HEAP_AUTO: 0 of a process that has ended (they will never be freed), a tenth
     * of the recording of one that ran on. */
    uint64_t min_age_ns;
    /* Of LEAKS: the youngest percentage of live allocations, which is left out. */
    uint32_t youngest_percent;
    uint32_t process; /* id + 1: of that process alone; 0: of all */
    /* 0: functions that only pass a request on (malloc, operator new, std::allocator, Rust's alloc)
     * are left out, and their caller has what they asked for; 1: they are rows of their own. */
    uint32_t all_frames;
    uint32_t reserved; /* 0 */
} kymo_heap_report_options;

/* Lives: bucket i is from 2^i ns up to twice that; the first one from 0, the last one without end.
 */
#define KYMO_LIFETIME_BUCKETS 48u

/* The whole. */
typedef struct kymo_heap_totals {
    uint32_t size;
    uint32_t view;
    kymo_heap_sum sum;       /* of what the view takes */
    kymo_heap_sum allocated; /* of all that was asked for, whatever the view */
    kymo_heap_sum young;     /* of LEAKS: what was left out for its age */
    kymo_heap_sum elsewhere; /* of LIFETIMES: freed by another thread than the one that asked */
    uint64_t at_ns;          /* the moment that is shown; KYMO_HEAP_END; of PEAK, when it was */
    uint64_t min_age_ns;     /* of LEAKS: the largest that was asked of a process */
    uint64_t lost;           /* records of allocations that are missing */
    uint64_t lost_frees;     /* then some allocations seem to live that do not */
    uint32_t is_partial;     /* 1: some are missing, and leaks may be others */
    uint32_t recorded;       /* processes whose allocations were recorded */
    uint64_t rate;           /* the largest of them; 1: every allocation */
    const double *lifetimes; /* as of rows, of all of them */
} kymo_heap_totals;

/* A report of memory. profile: finished. options NULL: what lives at the end, by function.
 * KYMO_E_INVALID as kymo_report_create; KYMO_E_NOMEM. */
KYMO_API kymo_err kymo_heap_report_create(const kymo_profile *profile,
                                          const kymo_heap_report_options *options,
                                          kymo_report **out);
/* NULL: the report is not of memory. */
KYMO_API const kymo_heap_totals *kymo_heap_report_totals(const kymo_report *report);

/* ---- differences ---- */

typedef struct kymo_report_diff kymo_report_diff;

/* What is done to values before they are compared. */
typedef enum kymo_diff_normalize {
    KYMO_DIFF_AUTO = 0, /* BY_TIME for times of which not both were recorded to the program's end;
                         * else AS_IS */
    KYMO_DIFF_AS_IS,
    KYMO_DIFF_BY_TIME,  /* each profile's divided by the seconds that it was recorded */
    KYMO_DIFF_BY_TOTAL, /* those after multiplied, so that both totals are the same */
} kymo_diff_normalize;

/* One row of two reports that are compared: its self. Of time nanoseconds, or nanoseconds for each
 * second of the recording; of memory bytes, of LIFETIMES objects, or as many for each second. */
typedef struct kymo_report_diff_row {
    const char *name;
    const char *file;
    const char *module;
    uint32_t line;
    uint32_t is_significant; /* 1: 0 is not between low and high */
    double before, after;
    double change;    /* after - before */
    double low, high; /* of change, 95 %: what sampling leaves uncertain */
    double objects;   /* of memory: change of objects */
    /* Of LIFETIMES: objects before and after, by bucket, as of kymo_report_row; else NULL. */
    const double *lifetimes[2];
} kymo_report_diff_row;

/* Compares samples of a type. kind is a type of before, after_kind one of after;
 * KYMO_SAMPLE_DEFAULT: of the same name and unit. The result is in the unit of before, and borrows
 * both profiles. options (by KYMO_BY_STACK is allowed) and errors as of kymo_report_create;
 * KYMO_E_INVALID also where after has no such type, where units differ and normalize is not
 * KYMO_DIFF_BY_TOTAL, for an unknown normalize, and for KYMO_DIFF_BY_TIME where it is not known how
 * long a profile was recorded. */
KYMO_API kymo_err kymo_time_diff_create(const kymo_profile *before, const kymo_profile *after,
                                        const kymo_report_options *options, uint32_t after_kind,
                                        kymo_diff_normalize normalize, kymo_report_diff **out);
/* Compares memory. Both options are of the same view and by the same; LIFETIMES not by stack. The
 * profiles may be the same one: of that, compared as it is, allocations that live at both moments
 * are no source of error. The result borrows both profiles. normalize: as of time. Errors as of
 * kymo_heap_report_create, and as of time. */
KYMO_API kymo_err kymo_heap_diff_create(const kymo_profile *before,
                                        const kymo_heap_report_options *before_options,
                                        const kymo_profile *after,
                                        const kymo_heap_report_options *after_options,
                                        kymo_diff_normalize normalize, kymo_report_diff **out);
/* NULL is allowed. */
KYMO_API void kymo_report_diff_destroy(kymo_report_diff *diff);
/* What is compared, as kymo_report_type; of LIFETIMES objects. */
KYMO_API const kymo_sample_type *kymo_report_diff_type(const kymo_report_diff *diff);
/* From the largest change, up or down, to the smallest; of memory some have none. Of LIFETIMES the
 * change of each bucket counts. */
KYMO_API const kymo_report_diff_row *kymo_report_diff_rows(const kymo_report_diff *diff,
                                                           size_t *count);
/* The sum; its name is "". */
KYMO_API const kymo_report_diff_row *kymo_report_diff_all(const kymo_report_diff *diff);
/* What was done to the values: never AUTO. */
KYMO_API kymo_diff_normalize kymo_report_diff_normalized(const kymo_report_diff *diff);

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
    /* With KYMO_COUNTER_IS_F64 in its flags the bits of doubles. */
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
