/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter_callback.h - profiles go to a callback in the program that started the agent.
 *
 * Layer:    agent
 * Flow:     deliver.c (in a worker) -> [reporter_callback] -> start/reports.c -> the callback
 * Threads:  one
 * Memory:   60 KiB of stack
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_REPORTER_CALLBACK_H
#define KYMO_AGENT_REPORTER_CALLBACK_H

#include "agent/reporter.h"
#include "buffer/agent_report.h"

/* "callback:FD": the socket of buffer/agent_report.h, which the program gives the agent. */
extern const struct kymo_reporter_kind kymo_reporter_callback;

#endif
