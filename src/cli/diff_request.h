/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_request.h - what diff is asked for, and the parts of it that write files and that compare
 * what has no samples.
 *
 * Layer:    cli
 * Flow:     cmd_diff.c -> [diff_request] -> diff_types.c
 *                                           diff_write.c -> kymo/encode.h
 *                                           diff_side.c -> views/report_side_diff.h
 * Threads:  the only one
 * Memory:   words point into argv; cmd_diff.c frees the names of files
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_DIFF_REQUEST_H
#define KYMO_CLI_DIFF_REQUEST_H

#include "cli/heap_request.h"
#include "cli/latest.h"
#include "cli/select_request.h"
#include "cli/steps.h"

struct kymo_diff_request {
    const char *operands[2]; /* as they are on the line */
    int n_operands;
    struct kymo_latest latest[2];
    int is_latest; /* some name was not given */
    char *files[2];
    struct kymo_heap_request heap[2]; /* the first has what both are asked */
    struct kymo_select_request select;
    kymo_profile *parts[2]; /* of what was read; both NULL: it is compared as a whole */
    kymo_report_selection selections[2]; /* of the parts */
    uint64_t top;
    kymo_diff_normalize normalize;
    double fail_above; /* percent; negative: never */
    int has_mode;
    const char *mode_word; /* of --mode; NULL: not given */
    int is_foreign_mode;   /* it is none of a recording's */
    int is_markers;        /* markers are compared; the RSS breakdown: heap[0].is_ledger */
    kymo_marker_report_by markers_by;
    const char *output;
    int force;
    int json;
    int quiet;
    int no_pager;
    int is_one;  /* both files are the same */
    int is_time; /* not memory is compared, but time of this kind */
    kymo_sample_kind kind;
    uint32_t kinds[2]; /* the sample types of both that are compared, once they were read */
    int is_made[2];    /* the samples are those of a recording's heap */
};

/* Whether both profiles have the kind of time that is asked for; says which has not. */
int kymo_diff_has_kind(const struct kymo_diff_request *request,
                       const kymo_profile *const profiles[2]);

/* Of two files of which one is another profiler's, samples are compared: chooses their types.
 * profiles: where these are of a recording's heap, that is replaced by *made, for the caller to
 * destroy. Returns -1 to go on, else an exit status. */
int kymo_diff_choose_types(struct kymo_diff_request *request, const kymo_profile *profiles[2],
                           kymo_profile **made);

/* Whether time is compared, not memory: what was asked for, else what was recorded of both. */
int kymo_diff_is_of_time(const struct kymo_diff_request *request,
                         const kymo_profile *const profiles[2]);

/* Prints what parts are compared, if they are parts. */
void kymo_diff_print_parts(const struct kymo_diff_request *request, const kymo_terminal *t);
/* A growth in percent of what was before; infinite where that was nothing; at least 0. */
double kymo_diff_percent(double change, double before);

/* Whether markers or the RSS breakdown are compared. */
int kymo_diff_is_side(const struct kymo_diff_request *request);
/* Compares them. Returns an exit status. */
int kymo_diff_side(struct kymo_diff_request *request, const kymo_profile *const profiles[2]);

/* Whether the output can be written and goes with the other options. Returns -1 to go on, else an
 * exit status. */
int kymo_diff_check_output(const struct kymo_diff_request *request);
/* Writes the difference into request->output. Returns an exit status. */
int kymo_diff_write(const struct kymo_diff_request *request, const kymo_profile *const profiles[2]);

#endif
