/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_text.h - the figures of an agent and of its program as text.
 *
 * Layer:    agent
 * Flow:     pull_page.h, memory/ -> [pull_text] -> pull_server.c
 * Threads:  any
 * Memory:   the caller's text, which fails as a kymo_str does
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_PULL_TEXT_H
#define KYMO_AGENT_PULL_TEXT_H

#include "agent/pull.h"
#include "base/str.h"

/* Text exposition format 0.0.4 of Prometheus: of the program what doc/memory.md has, and of the
 * agent names that begin with kymo_agent_. */
void kymo_pull_write_metrics(kymo_str *out, const struct kymo_pull_work *work,
                             const struct kymo_pull_figures *figures);
/* The list of paths. */
void kymo_pull_write_index(kymo_str *out, const struct kymo_pull_work *work);
/* As /proc/PID/cmdline has it: arguments with a NUL between them. */
void kymo_pull_write_cmdline(kymo_str *out, const struct kymo_pull_work *work,
                             const struct kymo_pull_figures *figures);

#endif
