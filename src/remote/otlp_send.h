/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_send.h - sends profiles by OpenTelemetry's protocol over HTTP.
 *
 * Layer:    remote
 * Flow:     module.c -> [otlp_send] -> request.c
 * Threads:  one
 * Memory:   the request with its profile, in its process
 * Signals:  not for handlers
 *
 * A file of the encoder (encode/otlp/otlp.h) is an ExportProfilesServiceRequest already. In the
 * place of its resource comes what the agent knows of where the program runs.
 * opentelemetry-proto 1.11.0, v1development.
 */
#ifndef KYMO_REMOTE_OTLP_SEND_H
#define KYMO_REMOTE_OTLP_SEND_H

#include "agent/reporter.h"
#include "base/bytes.h"
#include "base/str.h"

/* As kymo_reporter_kind.report. A profile that the server has rejected, in full or in part, is
 * KYMO_E_INVALID: to send it again would double what was accepted. */
KYMO_NODISCARD
kymo_err kymo_otlp_report(const struct kymo_reporter *reporter,
                          const struct kymo_interval_profile *profile, kymo_error *detail);

/* Appends the request. KYMO_E_CORRUPT: the profile does not begin as the encoder's. */
KYMO_NODISCARD
kymo_err kymo_otlp_put_request(kymo_bytes *body, const struct kymo_interval_profile *profile,
                               kymo_error *detail);

/* What an answer says, an ExportProfilesServiceResponse. text is appended to. Returns how many
 * profiles were rejected; one that is broken has rejected none. */
int64_t kymo_otlp_take_answer(const void *answer, size_t len, kymo_str *text);
/* Appends the message of a Status, which comes with an error. */
void kymo_otlp_take_status(const void *answer, size_t len, kymo_str *text);

#endif
