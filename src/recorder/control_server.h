/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_server.h - the recorder's end of control/control.h.
 *
 * Layer:    recorder
 * Flow:     control_client.c <-> [control_server] -> tree_control.c
 * Threads:  the recorder's main thread
 * Memory:   the caller owns the structure, which must stay where it is while it is open
 * Signals:  not for handlers
 *
 * Nothing here waits: who connects and says nothing has its place until others want one, and who
 * has asked is answered in the round in which all processes have done it, or patience is over.
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
    uint64_t asked_ns; /* when it asked, and when it is answered at the latest; 0: it has not */
    uint64_t deadline_ns;
    struct kymo_control_request request;
};

struct kymo_control_server {
    struct kymo_poll_source door; /* fd -1: not open */
    int door_is_shut;             /* for want of descriptors, until the next round */
    int poller;
    uint32_t next; /* the caller whose place is given away next */
    struct kymo_control_caller callers[KYMO_CONTROL_CALLERS];
    /* Does what is asked, which is well formed; what is no error is answered later. */
    kymo_err (*obey)(void *context, const struct kymo_control_request *request);
    /* How far that has come: fills in told and later, which are 0. Asked for HEAP, later is what is
     * still to be read of what was recorded before asked_ns. */
    kymo_err (*count)(void *context, const struct kymo_control_request *request, uint64_t asked_ns,
                      struct kymo_control_answer *answer);
    /* HEAP, once that is done, and CATEGORIES: a file is sent by the connection, which stays ours.
     * It is sent now, or later by another process. */
    kymo_err (*answer)(void *context, const struct kymo_control_request *request, int connection);
    void *context;
};

/* One that is not open; closing it does nothing. */
void kymo_control_server_init(struct kymo_control_server *server);
/* The caller sets obey, count, answer and context before. An error means only that no process can
 * send requests. */
KYMO_NODISCARD
kymo_err kymo_control_server_open(struct kymo_control_server *server, int poller);
/* Answers those for whom all is done, or who have waited long enough. */
void kymo_control_server_round(struct kymo_control_server *server, uint64_t now_ns);
/* Those who wait are answered. */
void kymo_control_server_close(struct kymo_control_server *server);

#endif
