/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_quality.h - how reliable a recording is: a verdict, the figures behind it, and advice
 * about what is missing.
 *
 * Layer:    views
 * Flow:     kymo/profile.h, kymo/report.h -> [report_quality] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 *
 * before: prefix of lines, "kymo: " or "". Lines are wrapped to the terminal's width. report: of
 * CPU samples by function, see kymo_report_for_quality. The functions that print the quality make
 * one where it is NULL or of another type.
 */
#ifndef KYMO_VIEWS_REPORT_QUALITY_H
#define KYMO_VIEWS_REPORT_QUALITY_H

#include "base/error.h"
#include "kymo/report.h"
#include "views/terminal.h"

/* Makes the report that quality is judged by: of CPU samples, by function. shown: a report by
 * function, or NULL; if it is of CPU samples, it serves and *made is NULL. The caller destroys
 * *made. Errors as of kymo_report_create. */
KYMO_NODISCARD
kymo_err kymo_report_for_quality(const kymo_profile *profile, const kymo_report *shown,
                                 kymo_report **made);

/* The verdict and its main figures: "quality: good: 1572 of 1577 expected samples, all stacks
 * complete, function names for 98 % of CPU time". */
void kymo_report_print_quality(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, const char *before);
/* A line for each figure: engine, samples, wall time, stacks, names, losses, interrupted calls. */
void kymo_report_print_quality_details(const kymo_terminal *t, const kymo_profile *profile,
                                       const kymo_report *report, const char *before);

/* One line if there are few samples for the time: what that means, and advice. */
void kymo_report_print_few(const kymo_terminal *t, const kymo_profile *profile, const char *before);

/* One line if much of the CPU time is in the starts of processes. */
void kymo_report_print_startup(const kymo_terminal *t, const kymo_profile *profile,
                               const char *before);

/* One line if much of the CPU time has no samples: its processes, by name. */
void kymo_report_print_unsampled(const kymo_terminal *t, const kymo_report *report,
                                 const char *before);

/* One line if much of the CPU time has no function names, or is in an interpreter: the file, and
 * advice. */
void kymo_report_print_unnamed(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, const char *before);

/* Whether a row has no function name: "[FILE]", "[generated code]", "FILE+0x1234". */
int kymo_report_is_unnamed(const kymo_report_row *row);

/* CPU time of all processes, in nanoseconds. */
uint64_t kymo_profile_cpu_ns(const kymo_profile *profile);

#endif
