/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json.h - a report as the JSON object that doc/report-json.md describes.
 *
 * Layer:    views; above profile, encode (its JSON writer)
 * Flow:     kymo/report.h -> [report_json] -> sink
 * Threads:  any, one per sink
 * Memory:   none but the sink's
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_JSON_H
#define KYMO_VIEWS_REPORT_JSON_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/json.h"
#include "kymo/report.h"
#include "views/report_selection.h"

/* Writes the object and a newline. selection: what part of a whole the profile is; NULL: it is the
 * whole, here and below. by and mode: the words for the kind of rows and for what is counted; top:
 * number of rows in "functions", 0 for all; with_tree: whether to write "tree". */
KYMO_NODISCARD
kymo_err kymo_report_write_json(const kymo_profile *profile, const kymo_report_selection *selection,
                                const kymo_report *report, const char *by, const char *mode,
                                size_t top, int with_tree, kymo_sink *sink);

/* The same for --mode markers: "markers", "counters" and "dropped" instead of "functions".
 * report: for "threads". */
KYMO_NODISCARD
kymo_err kymo_report_write_markers_json(const kymo_profile *profile,
                                        const kymo_report_selection *selection,
                                        const kymo_report *report,
                                        const kymo_marker_report *markers, const char *by,
                                        size_t top, kymo_sink *sink);

/* The same for the RSS breakdown (--mode memory). */
KYMO_NODISCARD
kymo_err kymo_report_write_memory_json(const kymo_profile *profile,
                                       const kymo_report_selection *selection,
                                       const kymo_report *report, kymo_sink *sink);

/* What `kymo diff --json` prints. selections: of both profiles; NULL: they are whole. */
KYMO_NODISCARD
kymo_err kymo_report_write_diff_json(const kymo_report_diff *diff,
                                     const kymo_report_selection selections[2], const char *by,
                                     const char *mode, size_t top, kymo_sink *sink);

/* Begins an object about a recording: its brace, and the common fields up to "by". NULL: no
 * memory. */
kymo_json *kymo_report_json_begin(const kymo_profile *profile,
                                  const kymo_report_selection *selection, const kymo_report *report,
                                  const char *by, const char *mode, kymo_sink *sink);
/* The same for an object about a difference, whose selections are as above. */
kymo_json *kymo_report_json_begin_diff(const char *mode, const char *by,
                                       const kymo_report_selection selections[2], kymo_sink *sink);
/* Writes the closing brace and a newline. Frees the writer. */
KYMO_NODISCARD
kymo_err kymo_report_json_end(kymo_json *json, kymo_sink *sink);

/* Members. A missing text is null. Integers are bytes or nanoseconds, rounded, since estimates
 * are not exact to the byte. A time is since the recording's start, null for its end. */
void kymo_report_json_text(kymo_json *json, const char *key, const char *text);
void kymo_report_json_whole(kymo_json *json, const char *key, double value);
void kymo_report_json_seconds(kymo_json *json, const char *key, uint64_t ns);
void kymo_report_json_moment(kymo_json *json, const char *key, const kymo_profile *profile,
                             uint64_t at_ns);
/* "heaps": how allocations were recorded, by process. */
void kymo_report_json_heaps(kymo_json *json, const kymo_profile *profile);

#endif
