/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports.h - the thread that hands profiles to the program's callback (kymo/agent.h).
 *
 * Layer:    start
 * Flow:     agent/reporter_callback.c -> [reports] -> the program's callback
 * Threads:  create, end, let_go: the agent's; the callback runs in a thread of its own, with all
 *           signals blocked but those of libc
 * Memory:   60 KiB from malloc, freed by end or by the thread
 * Signals:  not for handlers
 */
#ifndef KYMO_START_REPORTS_H
#define KYMO_START_REPORTS_H

#include <stdint.h>

#include "base/error.h"
#include "kymo/agent.h"

struct kymo_reports;

typedef kymo_err kymo_report_fn(void *data, const kymo_agent_profile *profile);

/* *agents_end: the other end of the socket, for the agent; the caller's. */
KYMO_NODISCARD
kymo_err kymo_reports_create(kymo_report_fn *report, void *data, struct kymo_reports **out,
                             int *agents_end, kymo_error *detail);
/* Nothing more is handed over. Waits for a callback that is at work until then (CLOCK_MONOTONIC),
 * and not in the callback itself; one that takes longer ends by itself. NULL is allowed. */
void kymo_reports_end(struct kymo_reports *reports, uint64_t until_ns);
/* It goes on until the agent ends, and then frees itself. NULL is allowed. */
void kymo_reports_let_go(struct kymo_reports *reports);
/* In a forked child, where there is no such thread: frees the copy. NULL is allowed. */
void kymo_reports_forget(struct kymo_reports *reports);

#endif
