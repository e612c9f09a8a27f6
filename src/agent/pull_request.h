/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_request.h - what an HTTP request asks an agent for, and whether it may.
 *
 * Layer:    agent
 * Flow:     pull_server.c (paths, headers) -> [pull_request] -> pull_server.c
 * Threads:  any
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_PULL_REQUEST_H
#define KYMO_AGENT_PULL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "control/control.h"

#define KYMO_PULL_SECONDS 30u /* as Go's net/http/pprof */

enum kymo_pull_kind {
    KYMO_PULL_UNKNOWN,
    KYMO_PULL_INDEX,
    KYMO_PULL_CMDLINE,
    KYMO_PULL_STATUS,
    KYMO_PULL_METRICS,
    KYMO_PULL_HEAP,    /* what lives */
    KYMO_PULL_PROFILE, /* of some seconds */
};

struct kymo_pull_path {
    const char *path;
    enum kymo_pull_kind kind;
    enum kymo_control_show show;
    const char *format;   /* how such a file's name ends */
    const char *filename; /* for the client; NULL: none */
    const char *help;
};

/* The row of a path; of kind UNKNOWN if there is none. */
const struct kymo_pull_path *kymo_pull_find(const char *path);
/* All rows, up to one of kind UNKNOWN. */
extern const struct kymo_pull_path kymo_pull_paths[];

/* The value of seconds=: NULL, "" and "0" stand for the default. At most an hour; a fraction is
 * allowed. */
KYMO_NODISCARD
kymo_err kymo_pull_parse_seconds(const char *text, uint64_t *duration_ns);

/* Whether the header Host is one that a browser cannot be led to send by another site's name: an
 * address, localhost, or none. */
int kymo_pull_host_is_local(const char *host);

#define KYMO_PULL_TOKEN_LEAST 16u
#define KYMO_PULL_TOKEN_MAX 256u

/* Reads a token from a file: one line of printable characters without blanks. */
KYMO_NODISCARD
kymo_err kymo_pull_read_token(const char *path, char out[KYMO_PULL_TOKEN_MAX], kymo_error *detail);
/* Whether the header Authorization (NULL: none) has this token. The time that it takes says nothing
 * of how far they agree. */
int kymo_pull_may(const char *authorization, const char *token);

#endif
