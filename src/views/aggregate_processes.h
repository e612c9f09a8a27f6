/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate_processes.h - accounts for all CPU time by the names of processes.
 *
 * Layer:    views
 * Flow:     processes, weights of threads -> [aggregate_processes] -> aggregate.c
 * Threads:  any; no state
 * Memory:   *rows is the caller's to free; names are the profile's
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_AGGREGATE_PROCESSES_H
#define KYMO_VIEWS_AGGREGATE_PROCESSES_H

#include "base/error.h"
#include "kymo/report.h"

/* threads: what was counted of each thread of the profile, CPU samples. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_aggregate_processes(const kymo_profile *profile, const kymo_report_thread *threads,
                                  size_t n_threads, kymo_report_process **rows, size_t *count);

#endif
