/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text.h - a report as text: the table, the tree, and the quality line.
 *
 * Layer:    cli
 * Flow:     kymo/report.h -> [report_text] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_REPORT_TEXT_H
#define KYMO_CLI_REPORT_TEXT_H

#include "base/str.h"
#include "cli/terminal.h"
#include "kymo/report.h"

/* The first top rows (0: all), the largest self first. Threads have a table of their
 * own. more follows "and N more": how to see them, or "". */
void kymo_report_print_table(const kymo_terminal *t, const kymo_report *report, kymo_report_by by,
                             size_t top, const char *more);
/* The tree of calls: nodes of at least min_share of the total, at most top lines (0: any number);
 * says how much was left out. */
void kymo_report_print_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                            double min_share);
/* One line per thread, the busiest first: CPU time, samples, how much of it they account for. */
void kymo_report_print_threads(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, size_t top);
/* One line: by what the recording was made, and how far it is to be trusted. */
void kymo_report_print_quality(const kymo_terminal *t, const kymo_profile *profile);
/* One line, if few samples stand for all the time: what that means, and what to do. before: what
 * the line begins with. */
void kymo_report_print_few(const kymo_terminal *t, const kymo_profile *profile, const char *before);

/* One line, of a recording with wall time: how long its threads waited, and in what most. before:
 * what the line begins with. */
void kymo_report_print_waits(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before);

/* One line, if much of the time is in files without symbols: which file, and what to do. report: by
 * function. before: what the line begins with. */
void kymo_report_print_unnamed(const kymo_terminal *t, const kymo_report *report,
                               const char *before);

/* Where a row is in the source, or else in which file: nothing for rows that are no function. */
void kymo_report_where_of(const kymo_report_row *row, kymo_report_by by, kymo_str *out);
/* The column's heading. */
const char *kymo_report_heading_of(kymo_report_by by);

/* CPU time of all processes, in nanoseconds. */
uint64_t kymo_profile_cpu_ns(const kymo_profile *profile);

#endif
