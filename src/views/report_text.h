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

/* The first top rows (0: all), the largest self first; without those that have no self. more
 * follows "and N more": how to see them, or "". */
void kymo_report_print_table(const kymo_terminal *t, const kymo_report *report, kymo_report_by by,
                             size_t top, const char *more);
/* The tree of calls: nodes of at least min_share of the total, at most top lines (0: any number);
 * says how much was left out. */
void kymo_report_print_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                            double min_share);
/* One line per thread, the busiest first: CPU time, samples, how much of it they account for; of
 * wall time, how long it lived instead. */
void kymo_report_print_threads(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, size_t top);
/* One line, of a recording with wall time: how long its threads waited, and in what most. before:
 * what the line begins with. */
void kymo_report_print_waits(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before);

/* The first top rows (0: all) of what takes more or less than before. */
void kymo_report_print_diff(const kymo_terminal *t, const kymo_report_diff *diff, kymo_report_by by,
                            size_t top);

/* A value in the type's unit: "-1.23 ms", "1.2 MiB". Returns out. */
const char *kymo_report_format_whole(char out[32], const kymo_sample_type *type, uint64_t value);
const char *kymo_report_format(char out[40], const kymo_sample_type *type, double value);
/* A row's name, what ends its colour, its place, and the end of the line. */
void kymo_report_print_place(const kymo_terminal *t, const kymo_report_row *row, kymo_report_by by,
                             const char *after_name);
/* "... and 3 more", and how to see them; nothing for 0. */
void kymo_report_print_more(const kymo_terminal *t, size_t count, int indent, const char *more);
/* "12.3 %", in the colour of its size. */
void kymo_report_print_share(const kymo_terminal *t, double share);
/* The buckets that have something: from *first on, *end is behind the last. */
void kymo_report_find_axis(const double *counts, uint32_t buckets, uint32_t *first, uint32_t *end);
void kymo_report_print_histogram(const kymo_terminal *t, const double *counts, uint32_t first,
                                 uint32_t end);
/* The column's heading. */
const char *kymo_report_heading_of(kymo_report_by by);

#endif
