/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_selection.h - which part of a profile a report shows, and how large that part is.
 *
 * Layer:    views
 * Flow:     cli/select_request.c -> [report_selection] -> terminal, report_json_head.c
 * Threads:  any
 * Memory:   what it points to is the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_REPORT_SELECTION_H
#define KYMO_VIEWS_REPORT_SELECTION_H

#include "base/json.h"
#include "kymo/report.h"
#include "views/terminal.h"

/* What is counted to say how large the part is. */
typedef enum kymo_report_counted {
    KYMO_COUNTED_SAMPLES, /* the weights of those of one sample type */
    KYMO_COUNTED_ALLOCATIONS,
    KYMO_COUNTED_MAPPINGS,
    KYMO_COUNTED_MARKERS,
    KYMO_COUNTED_PROCESSES,
} kymo_report_counted;

typedef struct kymo_report_selection {
    const kymo_profile *whole;
    const kymo_profile *part; /* that was selected from it */
    const char *options;      /* as typed: "--from 1s --thread main" */
    uint64_t from_ns, to_ns;  /* since the recording's start; 0 and UINT64_MAX: all */
    const char *const *threads;
    const char *const *processes;
    uint32_t thread_count, process_count;
    const char *focus, *ignore; /* NULL: not given */
    kymo_report_counted counted;
    uint32_t type; /* of KYMO_COUNTED_SAMPLES: the sample type */
} kymo_report_selection;

/* One line: "selected: 561 ms of 4.56 s of CPU time, 12.3 %, 561 samples (--from 1s --to 2s)".
 * before: what it begins with, up to the first amount; after: what follows, or "". */
void kymo_report_print_selection(const kymo_terminal *t, const kymo_report_selection *selection,
                                 const char *before, const char *after);
/* The member "selection" (doc/report-json.md), under this key. */
void kymo_report_json_selection(kymo_json *json, const char *key,
                                const kymo_report_selection *selection);

#endif
