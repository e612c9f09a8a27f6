/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_quality.h - how far a recording is to be trusted: a verdict, the figures behind it, and
 * what to do about what is missing.
 *
 * Layer:    views
 * Flow:     kymo/profile.h, kymo/report.h -> [report_quality] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 *
 * before: what lines begin with, "kymo: " or "". Lines are wrapped at the terminal's width. report:
 * of CPU samples by function; where it may be NULL, one is made.
 */
#ifndef KYMO_VIEWS_REPORT_QUALITY_H
#define KYMO_VIEWS_REPORT_QUALITY_H

#include "kymo/report.h"
#include "views/terminal.h"

/* One word and the figures that it rests on: "quality: good: 1572 of 1577 expected samples, all
 * stacks complete, function names for 98 % of CPU time". */
void kymo_report_print_quality(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, const char *before);
/* A line for each figure: engine, samples, wall time, stacks, names, losses, interrupted calls. */
void kymo_report_print_quality_details(const kymo_terminal *t, const kymo_profile *profile,
                                       const kymo_report *report, const char *before);

/* One line, if few samples stand for all the time: what that means, and what to do. */
void kymo_report_print_few(const kymo_terminal *t, const kymo_profile *profile, const char *before);

/* One line, if much of the CPU time has no samples: whose it is, by the names of processes. report:
 * not NULL. */
void kymo_report_print_unsampled(const kymo_terminal *t, const kymo_report *report,
                                 const char *before);

/* One line, if much of the CPU time has no function names, or is an interpreter's own: which file,
 * and what to do. */
void kymo_report_print_unnamed(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, const char *before);

/* Whether a row is not a function by its name: "[FILE]", "[generated code]", "FILE+0x1234". */
int kymo_report_is_unnamed(const kymo_report_row *row);

/* CPU time of all processes, in nanoseconds. */
uint64_t kymo_profile_cpu_ns(const kymo_profile *profile);

#endif
