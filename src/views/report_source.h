/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_source.h - what a report of another profiler's file begins with.
 *
 * Layer:    views; above kymo/report.h
 * Flow:     kymo_profile -> [report_source] -> terminal
 * Threads:  any
 * Memory:   none kept
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_SOURCE_H
#define KYMO_VIEWS_REPORT_SOURCE_H

#include "kymo/report.h"
#include "views/terminal.h"

/* The file and its format, the total of the report (NULL: it is left out), and the sample types
 * that --mode takes. Such files say nothing of quality. */
void kymo_report_print_source(const kymo_terminal *t, const kymo_profile *profile, const char *file,
                              const kymo_report *report);

#endif
