/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyroscope.h - sends pprof files to a server with the protocols of Pyroscope.
 *
 * Layer:    remote
 * Flow:     module.c -> [pyroscope] -> request.c
 * Threads:  one
 * Memory:   the request with its profile, in its process
 * Signals:  not for handlers
 *
 * push.v1 is a PushRequest by HTTP (Connect's unary protocol): a series, which is a set of labels,
 * with a profile that has an identifier. /ingest, which is older, is a form with the profile, and
 * the labels in the query. A profile has one kind of value (kymo_part), since the name of its
 * series says which.
 *
 * Labels are what is known of where the program runs, with names that the server takes: letters,
 * digits and underscores. It takes 30 for a series.
 */
#ifndef KYMO_REMOTE_PYROSCOPE_H
#define KYMO_REMOTE_PYROSCOPE_H

#include "agent/reporter.h"
#include "base/bytes.h"
#include "base/str.h"

#define KYMO_PYROSCOPE_LABELS 30u

/* As kymo_reporter_kind.report. */
KYMO_NODISCARD
kymo_err kymo_pyroscope_push(const struct kymo_reporter *reporter,
                             const struct kymo_interval_profile *profile, kymo_error *detail);
KYMO_NODISCARD
kymo_err kymo_pyroscope_ingest(const struct kymo_reporter *reporter,
                               const struct kymo_interval_profile *profile, kymo_error *detail);

/* The bodies of these requests, appended; and the query of the second. KYMO_E_NOMEM; KYMO_E_IO: the
 * profile cannot be read. */
KYMO_NODISCARD
kymo_err kymo_pyroscope_put_push(kymo_bytes *body, const struct kymo_interval_profile *profile,
                                 kymo_error *detail);
KYMO_NODISCARD
kymo_err kymo_pyroscope_put_form(kymo_bytes *body, const char *boundary,
                                 const struct kymo_interval_profile *profile, kymo_error *detail);
void kymo_pyroscope_put_query(kymo_str *query, const struct kymo_interval_profile *profile);
/* Appends what an error's answer says: the member "message" of an object, or a text. */
void kymo_pyroscope_explain(const char *answer, size_t len, kymo_str *text);

#endif
