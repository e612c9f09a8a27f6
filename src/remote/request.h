/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - a request that delivers a profile to an HTTP server, and what its answer means.
 *
 * Layer:    remote
 * Flow:     put.c, pyroscope.c, otlp_send.c -> [request] -> http.c
 * Threads:  one
 * Memory:   strings of the request; a body is the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_REMOTE_REQUEST_H
#define KYMO_REMOTE_REQUEST_H

#include "agent/metadata.h"
#include "agent/reporter.h"
#include "agent/reporter_target.h"
#include "base/bytes.h"
#include "remote/http.h"

#define KYMO_REQUEST_HEADERS_MAX (KYMO_METADATA_MAX + 12u)

/* Begin with one of zeros. */
struct kymo_request {
    kymo_str url;
    kymo_str headers[KYMO_REQUEST_HEADERS_MAX];
    size_t n_headers;
    const char *method;
    const void *body; /* NULL: body_fd */
    int body_fd;
    uint64_t body_bytes;
    uint32_t timeout_ms;
    /* Appends what an answer that is no success says, for people; NULL: nothing is looked for. */
    void (*explain)(const struct kymo_http_answer *answer, kymo_str *text);
};

/* A header that ends with "NAME: ", to which its value is appended. */
kymo_str *kymo_request_header(struct kymo_request *request, const char *name);
/* Headers of the target: Authorization, X-Scope-OrgID. The token's file is read for each delivery:
 * it may have been renewed. KYMO_E_NOT_FOUND: it has none. */
KYMO_NODISCARD
kymo_err kymo_request_authorize(struct kymo_request *request, const struct kymo_http_target *target,
                                kymo_error *detail);
/* KYMO_OK: 2xx, and the answer is filled. What may pass (kymo_http_may_pass), and a redirect, is
 * KYMO_E_IO, another 4xx KYMO_E_INVALID. */
KYMO_NODISCARD
kymo_err kymo_request_send(const struct kymo_request *request, struct kymo_http_answer *answer,
                           kymo_error *detail);
/* The same by POST with this body, as the target wants it: its time limit and authorization. */
KYMO_NODISCARD
kymo_err kymo_request_post(struct kymo_request *request, const struct kymo_http_target *target,
                           const kymo_bytes *body, struct kymo_http_answer *answer,
                           kymo_error *detail);
void kymo_request_deinit(struct kymo_request *request);

/* Appends the file of a profile from an offset on. */
KYMO_NODISCARD
kymo_err kymo_request_take_file(kymo_bytes *body, const struct kymo_interval_profile *profile,
                                uint64_t from, kymo_error *detail);
/* Appends the begin of a text that a server sent, as one line. */
void kymo_request_put_text(kymo_str *to, const char *text, size_t len);

#endif
