/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4.h - signs a request as AWS's Signature Version 4 has it.
 *
 * Layer:    remote
 * Flow:     s3.c (a request) -> [sigv4] -> its Authorization header
 * Threads:  one
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * Of our own and not libcurl's: that of 7.88 leaves out x-amz-content-sha256, does not encode paths
 * and signs an empty Expect.
 */
#ifndef KYMO_REMOTE_SIGV4_H
#define KYMO_REMOTE_SIGV4_H

#include "base/error.h"
#include "base/str.h"
#include "remote/sha256.h"

/* "20150830T123600Z" */
#define KYMO_SIGV4_TIME_MAX 17u

struct kymo_sigv4_header {
    const char *name; /* in small letters */
    const char *value;
};

struct kymo_sigv4_request {
    const char *method;
    const char *path;                        /* as it is sent, percent-encoded once */
    const char *query;                       /* sorted and encoded; "": none */
    const struct kymo_sigv4_header *headers; /* all that are signed, sorted by name */
    size_t n_headers;
    const char *payload_hash; /* hexadecimal SHA-256 of the body */
};

struct kymo_sigv4_key {
    const char *access;
    const char *secret;
    const char *region;
    const char *service;
    const char *time; /* that of the request's x-amz-date */
};

/* Formats seconds since 1970. Returns out. */
const char *kymo_sigv4_time(int64_t seconds, char out[KYMO_SIGV4_TIME_MAX]);

/* Appends what stands behind "Authorization: ". KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_sigv4_sign(const struct kymo_sigv4_request *request, const struct kymo_sigv4_key *key,
                         kymo_str *authorization);

#endif
