/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - gets the session from the recorder.
 *
 * Layer:    capture
 * Flow:     buffer/attach.h says what is spoken
 * Threads:  one that is alone: the constructor's, or a forked child's first
 * Memory:   some 500 bytes of stack; the session's mapping is the caller's in the end
 * Signals:  safe: raw system calls, and waiting has a limit
 */
#ifndef KYMO_CAPTURE_CONNECT_H
#define KYMO_CAPTURE_CONNECT_H

#include <stdint.h>

#include "base/attr.h"
#include "buffer/attach.h"
#include "buffer/session.h"

/* What is still open until kymo_attach_finish. */
struct kymo_attach_rest {
    int socket;
    int event;            /* of the calling thread, not enabled yet; -1: none */
    int32_t event_number; /* by which its signals name it */
};

struct kymo_attachment {
    struct kymo_attach_rest rest;
    struct kymo_session *session;
    struct kymo_session_plan plan;
    uint32_t *bell;     /* NULL: no address space for it */
    const char *tables; /* the same */
    uint64_t tables_bytes;
    uint64_t base_cpu_ns; /* of the calling thread: its samples count from there */
};

/* Who attaches, and how long each wait for the recorder may be, which ends at once where that has
 * been stopped (SIGSTOP). */
struct kymo_attach_call {
    const char *name; /* the recorder listens under this one, which is abstract */
    enum kymo_attach_start start;
    int32_t parent_pid;
    int patience_seconds;
    struct kymo_attach_hello *hello; /* has the image's name; NULL: /proc has to tell it */
};

/* Connects to the recorder and maps its session. On success `rest` stays open until
 * kymo_attach_finish; on failure nothing stays. *why is a literal. */
KYMO_SIGNAL_SAFE KYMO_NODISCARD
kymo_err kymo_attach(const struct kymo_attach_call *call, struct kymo_attachment *out,
                     const char **why);

/* Whether a recorder listens under this name: 0 only where that is sure, since it has ended. */
int kymo_attach_is_reachable(const char *name);

/* Handler and calling thread are in place. Starts its event, if signals of that are `signal`, and
 * tells the recorder that the process is attached. slot: the thread's; NULL: it has none. Returns
 * whether the event runs; if not, the recorder is to be woken. */
KYMO_SIGNAL_SAFE int kymo_attach_finish(struct kymo_session *session, struct kymo_thread_slot *slot,
                                        int signal, const struct kymo_attach_rest *rest);

/* The opposite of kymo_attach: unmaps everything, closes the socket. */
KYMO_SIGNAL_SAFE void kymo_attach_undo(struct kymo_attachment *attachment);

/* ---- recorder_stopped.c: whether the recorder has been stopped, as by SIGSTOP: it will not
 * answer before it goes on. ----
 */

/* The recorder's process id, which is part of the name of its socket (recorder/attach_server.c); 0:
 * the name has none. In another pid namespace it is the id of another process, or of none. */
KYMO_SIGNAL_SAFE uint32_t kymo_recorder_pid(const char *attach_name);

/* As /proc says it; 0 where that says nothing. */
KYMO_SIGNAL_SAFE int kymo_recorder_is_stopped(uint32_t pid);

#endif
