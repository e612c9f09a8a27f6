/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_heap.h - memory as text: what is above a table of it, the summary, the ledger.
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

/* How allocations were recorded, what is missing, and the sum of what is below with its interval:
 * one line each. */
void kymo_report_print_heap_totals(const kymo_terminal *t, const kymo_profile *profile,
                                   const kymo_report *report);
/* What was asked for, what is left, and the first top rows of what there was at most; lead begins
 * the lines around them. 0: no allocations were recorded, and nothing is printed. */
int kymo_report_print_heap_summary(const kymo_terminal *t, const kymo_profile *profile, size_t top,
                                   const char *lead);
/* The ledger of each process, and the figures that are no curves. */
void kymo_report_print_ledger(const kymo_terminal *t, const kymo_profile *profile);

#endif
