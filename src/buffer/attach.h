/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h - what the library and the recorder say to each other at start.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     start/preload.c <-> recorder/host.c, over a Unix SOCK_SEQPACKET socket
 *
 *   library  -> HELLO {layout, pid, tid}
 *   recorder -> WELCOME {error, size} and, if error is 0, the session's descriptor (SCM_RIGHTS)
 *   library  -> READY once handler and main thread are in place
 *   recorder -> GO once the main thread's perf event is armed (or is not to be had)
 *
 * Then both close: nothing of ours stays open in the program.
 */
#ifndef KYMO_BUFFER_ATTACH_H
#define KYMO_BUFFER_ATTACH_H

#include <stdint.h>

/* The environment of the program names the socket: a name in the abstract namespace. */
#define KYMO_ATTACH_ENV "KYMO_ATTACH"
#define KYMO_ATTACH_MAGIC 0x4b594d4fu

enum kymo_attach_kind {
    KYMO_ATTACH_HELLO = 1,
    KYMO_ATTACH_WELCOME = 2,
    KYMO_ATTACH_READY = 3,
    KYMO_ATTACH_GO = 4,
};

struct kymo_attach_message {
    uint32_t magic;
    uint32_t kind;
    uint32_t layout; /* KYMO_SESSION_LAYOUT */
    int32_t error;   /* kymo_err */
    int32_t pid, tid;
    uint64_t size_bytes;  /* of the session */
    uint64_t table_bytes; /* of the table area behind it */
};

#endif
