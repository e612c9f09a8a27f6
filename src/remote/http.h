/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - one HTTP request by libcurl, with bounds in time and size.
 *
 * Layer:    remote
 * Flow:     s3.c, put.c, imds.c, cloud.c -> [http] -> network
 * Threads:  one
 * Memory:   the caller's structures
 * Signals:  not for handlers
 *
 * Certificates are always checked, by those of the system, or of CURL_CA_BUNDLE, SSL_CERT_FILE or
 * SSL_CERT_DIR. No redirect is followed, so no other host sees a signature or token. A proxy is
 * used as the environment says (https_proxy, NO_PROXY), but never for services of the machine
 * itself. Errors name the host and no more of a URL.
 */
#ifndef KYMO_REMOTE_HTTP_H
#define KYMO_REMOTE_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KYMO_HTTP_ANSWER_MAX 65536u

struct kymo_http_request {
    const char *method;
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    const void *body; /* NULL: body_fd, read by offset from its beginning */
    int body_fd;
    uint64_t body_bytes;
    uint32_t timeout_ms; /* of the whole */
    int is_of_machine;   /* a metadata service: no proxy */
};

struct kymo_http_answer {
    int status;
    int64_t date_s;  /* of its Date header, since 1970; 0: none */
    char region[40]; /* x-amz-bucket-region */
    size_t len;
    char text[KYMO_HTTP_ANSWER_MAX]; /* with a NUL behind it; what is longer is cut */
    int is_cut;
};

/* Fills the answer, whatever its status is. KYMO_E_TIMEOUT; KYMO_E_IO: no connection, no
 * certificate that is known, an answer that is none; KYMO_E_INVALID: a URL that is none. detail is
 * one line. */
KYMO_NODISCARD
kymo_err kymo_http_send(const struct kymo_http_request *request, struct kymo_http_answer *answer,
                        kymo_error *detail);

/* Whether a status stands for a failure that may pass: 408, 425, 429 and 5xx. */
int kymo_http_may_pass(int status);

#endif
