/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text.h - a report as text: the table, the tree, the threads, the difference of two.
 *
 * Layer:    views
 * Flow:     kymo/report.h -> [report_text] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_TEXT_H
#define KYMO_VIEWS_REPORT_TEXT_H

#include "kymo/report.h"
#include "views/terminal.h"

/* The first `top` rows (0: all), the largest self first; without those whose self is 0. more:
 * text after "and N more" that says how to see them, or "". */
void kymo_report_print_table(const kymo_terminal *t, const kymo_report *report, kymo_report_by by,
                             size_t top, const char *more);
/* The tree of calls: nodes with at least min_share of the total, at most `top` lines (0: no
 * limit); says how much was left out. */
void kymo_report_print_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                            double min_share);
/* One line per thread, the busiest first: CPU time, samples, and the share of CPU time that they
 * cover; for wall time, the lifetime instead. */
void kymo_report_print_threads(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, size_t top);
/* One line for a recording with wall time: how long its threads waited, and mostly for what.
 * before: prefix of the line. */
void kymo_report_print_waits(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before);

/* The first `top` rows (0: all) by how much they changed. */
void kymo_report_print_diff(const kymo_terminal *t, const kymo_report_diff *diff, kymo_report_by by,
                            size_t top);

/* A value in the type's unit: "-1.23 ms", "1.2 MiB". Returns out. */
const char *kymo_report_format_whole(char out[32], const kymo_sample_type *type, uint64_t value);
const char *kymo_report_format(char out[40], const kymo_sample_type *type, double value);
/* A row's name, the end of its colour, its place, and a newline. */
void kymo_report_print_place(const kymo_terminal *t, const kymo_report_row *row, kymo_report_by by,
                             const char *after_name);
/* "... and 3 more", and how to see them; nothing for 0. */
void kymo_report_print_more(const kymo_terminal *t, size_t count, int indent, const char *more);
/* "12.3 %", coloured by size. */
void kymo_report_print_share(const kymo_terminal *t, double share);
/* The range of buckets that are not empty: from *first to before *end. */
void kymo_report_find_axis(const double *counts, uint32_t buckets, uint32_t *first, uint32_t *end);
void kymo_report_print_histogram(const kymo_terminal *t, const double *counts, uint32_t first,
                                 uint32_t end);
/* The end of the bucket that has the median of lifetimes; 0: there are none. */
uint64_t kymo_report_median_below_ns(const double *lives);
/* The column's heading. */
const char *kymo_report_heading_of(kymo_report_by by);

#endif
