/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_server.h - receives the requests of `kymo control`; control/control.h is the protocol.
 *
 * Layer:    recorder
 * Flow:     control_client.c <-> [control_server] -> tree_control.c
 * Threads:  the recorder's main thread
 * Memory:   the caller owns the structure, which must stay where it is while it is open
 * Signals:  not for handlers
 *
 * No function here waits. A caller that sends nothing keeps its place until another one needs it. A
 * request is answered in the round in which all processes have followed it, or at its deadline.
 */
#ifndef KYMO_RECORDER_CONTROL_SERVER_H
#define KYMO_RECORDER_CONTROL_SERVER_H

#include "control/control.h"
#include "recorder/poller.h"

#define KYMO_CONTROL_CALLERS 4u

struct kymo_control_server;

struct kymo_control_caller {
    struct kymo_poll_source source; /* fd -1: no caller */
    struct kymo_control_server *server;
    uint64_t asked_ns; /* time of the request, and the latest time of its answer; 0: no request
                        * yet */
    uint64_t deadline_ns;
    struct kymo_control_request request;
};

struct kymo_control_server {
    struct kymo_poll_source door; /* fd -1: not open */
    int door_is_shut;             /* no descriptors left: accepts again in the next round */
    int poller;
    uint32_t next; /* the caller that loses its place next */
    struct kymo_control_caller callers[KYMO_CONTROL_CALLERS];
    /* Obeys a request, which is well formed. Unless it fails, the answer is sent later. */
    kymo_err (*obey)(void *context, const struct kymo_control_request *request);
    /* Counts the processes that have followed (told) and have not yet (later); both are 0
     * before. Of FLUSH: whether the interval has ended. For HEAP and SNAPSHOT, later is the number
     * of processes whose records from before asked_ns are not all read; for PROFILE, from before
     * its seconds are over. */
    kymo_err (*count)(void *context, const struct kymo_control_request *request, uint64_t asked_ns,
                      struct kymo_control_answer *answer);
    /* For HEAP, SNAPSHOT and PROFILE, when complete, CATEGORIES and STATUS: sends a file over the
     * connection, which the caller keeps. Another process may send it later. */
    kymo_err (*answer)(void *context, const struct kymo_control_request *request, uint64_t asked_ns,
                       int connection);
    void *context;
};

/* Makes a server that is not open; closing it does nothing. */
void kymo_control_server_init(struct kymo_control_server *server);
/* The caller sets obey, count, answer and context before. After an error `kymo control` cannot
 * send requests; the recording works. */
KYMO_NODISCARD
kymo_err kymo_control_server_open(struct kymo_control_server *server, int poller);
/* Answers the requests that are complete or past their deadline. */
void kymo_control_server_round(struct kymo_control_server *server, uint64_t now_ns);
/* When the oldest request for a profile came whose answer waits for its seconds to pass;
 * UINT64_MAX: there is none. */
uint64_t kymo_control_server_since(const struct kymo_control_server *server);
/* Answers all who wait, and closes. */
void kymo_control_server_close(struct kymo_control_server *server);

#endif
