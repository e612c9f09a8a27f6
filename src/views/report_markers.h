/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_markers.h - markers and counters as text, in a table each.
 *
 * Layer:    views
 * Flow:     kymo/report.h -> [report_markers] -> terminal, pipe
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_MARKERS_H
#define KYMO_VIEWS_REPORT_MARKERS_H

#include "kymo/report.h"
#include "views/terminal.h"

/* One line: how many there are, and how many are missing. */
void kymo_report_print_marker_totals(const kymo_terminal *t, const kymo_marker_report *report);
/* The first `top` rows (0: all), the largest total first; heading: the kind of rows. */
void kymo_report_print_markers(const kymo_terminal *t, const kymo_marker_report *report,
                               const char *heading, size_t top);
/* All counters; nothing if there are none. */
void kymo_report_print_counters(const kymo_terminal *t, const kymo_profile *profile,
                                const kymo_marker_report *report);

#endif
