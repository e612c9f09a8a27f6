/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_status.h - what an agent says of itself to `kymo control status`.
 *
 * Layer:    agent
 * Flow:     agent.c -> [status] -> recorder/tree_status.c
 * Threads:  the agent's
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_AGENT_STATUS_H
#define KYMO_AGENT_AGENT_STATUS_H

#include "agent/reporting.h"
#include "base/json.h"
#include "base/str.h"

/* Members of an object: settings and what became of intervals. */
void kymo_agent_status_write(const struct kymo_reporting_counts *status,
                             const struct kymo_agent_settings *settings, kymo_json *json);
/* One object: a reporter, and what became of its profiles. */
void kymo_agent_status_write_reporter(const struct kymo_deliver *deliver, kymo_json *json);

/* Appends text without what may be secret in the URLs that it has: user and password, and
 * everything from a question mark or a hash on. */
void kymo_text_put_public(kymo_str *out, const char *text);
/* Appends the reporter as it was given, without these. */
void kymo_reporter_put_public(kymo_str *out, const struct kymo_reporter *reporter);

#endif
