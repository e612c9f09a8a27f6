/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_diff.h - markers, and the lines of the RSS breakdown, of two profiles side by side.
 *
 * Layer:    views
 * Flow:     kymo/report.h, ledger_lines.c -> [side_diff] -> report_side_diff*.c
 * Threads:  any; it only reads
 * Memory:   rows point into the reports and profiles that they were made of, which outlive them
 * Signals:  not for handlers
 *
 * Both are counted, not sampled: their changes have no interval.
 */
#ifndef KYMO_VIEWS_SIDE_DIFF_H
#define KYMO_VIEWS_SIDE_DIFF_H

#include "base/vec.h"
#include "kymo/report.h"
#include "views/ledger_lines.h"

/* ---- markers ---- */

/* In each array, what is before and what is after. */
struct kymo_marker_diff_row {
    const char *name;     /* "" in the sum of all */
    const char *category; /* NULL: none, or rows are not by name */
    uint64_t count[2];
    uint64_t total_ns[2]; /* of intervals */
};

struct kymo_marker_diff {
    KYMO_VEC(struct kymo_marker_diff_row) rows;
    struct kymo_marker_diff_row all;
};

/* Rows of the same name and category are one, from the largest change of the total down; of equal
 * ones the one whose number changed more. Rows without markers on both sides are left out. Both
 * reports have rows of the same kind. */
KYMO_NODISCARD
kymo_err kymo_marker_diff_make(struct kymo_marker_diff *diff,
                               const kymo_marker_report *const reports[2]);
void kymo_marker_diff_deinit(struct kymo_marker_diff *diff);

/* ---- the RSS breakdown ---- */

struct kymo_ledger_diff_row {
    const char *process; /* its name */
    const char *part;    /* "": the whole line */
    uint32_t nth;        /* which one of the processes of this name; from 0 */
    uint32_t line;
    int32_t pid[2];   /* 0: this side has no such process */
    int64_t bytes[2]; /* 0: this side has no such line */
    int64_t rss[2];   /* the sum that bytes are a part of */
    int is_most;      /* when most was resident; else the last breakdown */
    int is_copy;      /* of no side when most was resident before its last breakdown */
};

struct kymo_ledger_diff {
    KYMO_VEC(struct kymo_ledger_diff_row) rows;
    struct kymo_ledger_lines lines[2];
};

/* Processes are compared by name, and of one name in the order of the profile. A process whose only
 * breakdown is its last one has that in both places, if the other side has two. Rows are by
 * process, the time when most was resident first, then by line: the whole line, then its parts from
 * the largest down. */
KYMO_NODISCARD
kymo_err kymo_ledger_diff_make(struct kymo_ledger_diff *diff,
                               const kymo_profile *const profiles[2]);
void kymo_ledger_diff_deinit(struct kymo_ledger_diff *diff);

/* Whether both rows are of one breakdown. */
int kymo_ledger_diff_is_same_time(const struct kymo_ledger_diff_row *a,
                                  const struct kymo_ledger_diff_row *b);

#endif
