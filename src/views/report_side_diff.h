/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_side_diff.h - differences of markers and of the RSS breakdown, as text and as JSON.
 *
 * Layer:    views
 * Flow:     side_diff.h -> [report_side_diff] -> terminal, pipe, sink
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_SIDE_DIFF_H
#define KYMO_VIEWS_REPORT_SIDE_DIFF_H

#include "views/report_selection.h"
#include "views/side_diff.h"
#include "views/terminal.h"

/* One line of all markers, then the first `top` rows (0: all). heading: the kind of rows. */
void kymo_report_print_marker_diff(const kymo_terminal *t, const struct kymo_marker_diff *diff,
                                   const char *heading, size_t top);
/* A table for each process and time. */
void kymo_report_print_ledger_diff(const kymo_terminal *t, const struct kymo_ledger_diff *diff);

/* What `kymo diff --json` prints of them. selections: of both profiles; NULL: they are whole. by:
 * the word for the kind of rows. */
KYMO_NODISCARD
kymo_err kymo_report_write_marker_diff_json(const struct kymo_marker_diff *diff,
                                            const kymo_report_selection selections[2],
                                            const char *by, size_t top, kymo_sink *sink);
KYMO_NODISCARD
kymo_err kymo_report_write_ledger_diff_json(const struct kymo_ledger_diff *diff,
                                            const kymo_report_selection selections[2],
                                            kymo_sink *sink);

#endif
