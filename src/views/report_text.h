/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text.h - a report as text: the table, the tree, the threads.
 *
 * Layer:    views
 * Flow:     kymo/report.h -> [report_text] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_TEXT_H
#define KYMO_VIEWS_REPORT_TEXT_H

#include "base/str.h"
#include "kymo/report.h"
#include "views/terminal.h"

/* The first top rows (0: all), the largest self first; without those that have no time of their
 * own. Threads have a table of their
 * own. more follows "and N more": how to see them, or "". */
void kymo_report_print_table(const kymo_terminal *t, const kymo_report *report, kymo_report_by by,
                             size_t top, const char *more);
/* The tree of calls: nodes of at least min_share of the total, at most top lines (0: any number);
 * says how much was left out. */
void kymo_report_print_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                            double min_share);
/* One line per thread, the busiest first: CPU time, samples, how much of it they account for; of
 * wall time, how long it lived instead. kind: kymo_sample_kind, as the report was made. */
void kymo_report_print_threads(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, uint32_t kind, size_t top);
/* One line, of a recording with wall time: how long its threads waited, and in what most. before:
 * what the line begins with. */
void kymo_report_print_waits(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before);

/* The first top rows (0: all) of what takes more or less than before. */
void kymo_report_print_diff(const kymo_terminal *t, const kymo_report_diff *diff, kymo_report_by by,
                            size_t top);

/* A value in the type's unit: "-1.23 ms", "1.2 MiB". Returns out. */
const char *kymo_report_format(char out[40], const kymo_sample_type *type, double value);
/* A row's name and place, and the end of the line. */
void kymo_report_print_place(const kymo_terminal *t, const kymo_report_row *row, kymo_report_by by);
/* "... and 3 more", and how to see them; nothing for 0. */
void kymo_report_print_more(const kymo_terminal *t, size_t count, int indent, const char *more);
/* Where a row is in the source, or else in which file: nothing for rows that are no function. */
void kymo_report_where_of(const kymo_report_row *row, kymo_report_by by, kymo_str *out);
/* The column's heading. */
const char *kymo_report_heading_of(kymo_report_by by);

#endif
