/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_heap.h - memory as text: the lines above a table, the summary, the RSS breakdown.
 *
 * Layer:    views
 * Flow:     kymo/report.h -> [report_heap] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none that is kept
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_HEAP_H
#define KYMO_VIEWS_REPORT_HEAP_H

#include "kymo/report.h"
#include "views/terminal.h"

/* One line each: how allocations were recorded, what is missing, and the sum of the rows below
 * with its interval. */
void kymo_report_print_heap_totals(const kymo_terminal *t, const kymo_profile *profile,
                                   const kymo_report *report);
/* Allocated memory, live memory at exit, and the first `top` rows of the peak; lead: prefix of
 * the lines around them. 0: no allocations were recorded, nothing is printed. */
int kymo_report_print_heap_summary(const kymo_terminal *t, const kymo_profile *profile, size_t top,
                                   const char *lead);
/* The RSS breakdown of each process, and single figures of its memory. */
void kymo_report_print_ledger(const kymo_terminal *t, const kymo_profile *profile);

#endif
