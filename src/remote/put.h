/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.h - sends a profile to an HTTP server.
 *
 * Layer:    remote
 * Flow:     module.c -> [put] -> request.c
 * Threads:  one
 * Memory:   the profile is read from its file in pieces
 * Signals:  not for handlers
 */
#ifndef KYMO_REMOTE_PUT_H
#define KYMO_REMOTE_PUT_H

#include "agent/reporter.h"
#include "base/str.h"

/* As kymo_reporter_kind.report, of kymo_reporter_http and kymo_reporter_https. Answers mean what
 * kymo_request_send says. */
KYMO_NODISCARD
kymo_err kymo_put_report(const struct kymo_reporter *reporter,
                         const struct kymo_interval_profile *profile, kymo_error *detail);

#endif
