/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url.h - takes an HTTP URL apart, and writes and reads percent signs.
 *
 * Layer:    agent
 * Flow:     reporter=, endpoints -> [url] -> reporter_target.c, src/remote/
 * Threads:  any
 * Memory:   a kymo_url points into the text
 * Signals:  not for handlers
 *
 * A user and password in a URL are refused: they would be in the arguments of a process, which any
 * user of the machine can read. No error repeats the text of a URL.
 */
#ifndef KYMO_AGENT_URL_H
#define KYMO_AGENT_URL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct kymo_url_part {
    const char *data;
    size_t len;
};

struct kymo_url {
    int is_https;
    struct kymo_url_part authority; /* the host with its port, as a Host: header has it */
    struct kymo_url_part host;      /* an IPv6 address without its brackets */
    uint32_t port;                  /* that of the scheme where none is given */
    struct kymo_url_part path;      /* from its slash; may be empty */
    struct kymo_url_part query;     /* behind the question mark; may be empty */
};

/* KYMO_E_INVALID: it is none that begins with http:// or https://, or has a user, a fragment, or
 * characters that belong encoded. */
KYMO_NODISCARD
kymo_err kymo_url_parse(const char *text, struct kymo_url *url, kymo_error *detail);

/* The next NAME=VALUE of a query, which is taken off *rest; 0: there is none. */
int kymo_url_next(struct kymo_url_part *rest, struct kymo_url_part *name,
                  struct kymo_url_part *value);
int kymo_url_is(struct kymo_url_part part, const char *word);

/* Appends text with all but A-Z a-z 0-9 - . _ ~ and the characters of keep as %XX. */
void kymo_url_encode(kymo_str *out, const char *text, size_t len, const char *keep);
/* Reads %XX. KYMO_E_INVALID: a percent sign without two hexadecimal digits, or a NUL;
 * KYMO_E_TOO_BIG: longer than out. */
KYMO_NODISCARD
kymo_err kymo_url_decode(struct kymo_url_part part, char *out, size_t cap);

#endif
