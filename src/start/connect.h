/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - gets the session from the recorder.
 *
 * Layer:    start
 * Flow:     buffer/attach.h says what is spoken
 * Threads:  the constructor's
 * Signals:  not for handlers
 */
#ifndef KYMO_START_CONNECT_H
#define KYMO_START_CONNECT_H

#include "buffer/session.h"

struct kymo_attachment {
    int socket;
    struct kymo_session *session;
    struct kymo_session_plan plan;
    uint32_t *bell;     /* NULL: no address space for it */
    const char *tables; /* the same */
    uint64_t tables_bytes;
    uint64_t base_cpu_ns; /* what the calling thread had used before this image */
};

/* Connects to the recorder that listens under this abstract name, and maps its session. On success
 * the socket stays open until kymo_attach_finish; on failure nothing stays. *why is a literal. */
KYMO_NODISCARD
kymo_err kymo_attach(const char *name, struct kymo_attachment *out, const char **why);

/* Says READY, waits for GO, closes the socket. */
void kymo_attach_finish(struct kymo_attachment *attachment);

#endif
