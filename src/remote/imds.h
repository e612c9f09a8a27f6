/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imds.h - asks EC2's instance metadata service, version 2: a token first, then what it is for.
 *
 * Layer:    remote
 * Flow:     credentials.c, cloud.c -> [imds] -> http.c
 * Threads:  one
 * Memory:   the caller's structures
 * Signals:  not for handlers
 *
 * It answers in milliseconds or not at all, so a second is waited.
 * AWS_EC2_METADATA_SERVICE_ENDPOINT names another address, AWS_EC2_METADATA_DISABLED=true says that
 * there is none.
 */
#ifndef KYMO_REMOTE_IMDS_H
#define KYMO_REMOTE_IMDS_H

#include "remote/http.h"

#define KYMO_MACHINE_TIMEOUT_MS 1000u

struct kymo_imds {
    char base[256];
    char token_header[512];
};

/* KYMO_E_NOT_FOUND: there is no such service, or it is turned off. */
KYMO_NODISCARD
kymo_err kymo_imds_open(struct kymo_imds *imds, kymo_error *detail);
/* An answer of status 200; its text is the caller's to judge. KYMO_E_NOT_FOUND: another status. */
KYMO_NODISCARD
kymo_err kymo_imds_get(const struct kymo_imds *imds, const char *path,
                       struct kymo_http_answer *answer, kymo_error *detail);

/* GET of another service of the machine; header may be NULL. */
KYMO_NODISCARD
kymo_err kymo_machine_get(const char *url, const char *header, struct kymo_http_answer *answer,
                          kymo_error *detail);

#endif
