/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_server.h - the recorder's end of control.h.
 *
 * Layer:    recorder
 * Flow:     control_client.c <-> [control_server] -> tree.c
 * Threads:  the recorder's main thread
 * Memory:   the caller owns the structure, which must stay where it is while it is open
 * Signals:  not for handlers
 *
 * Nothing here waits: who connects and says nothing has its place until others want one, and who
 * has asked is answered in the round in which all processes have done it, or patience is over.
 */
#ifndef KYMO_RECORDER_CONTROL_SERVER_H
#define KYMO_RECORDER_CONTROL_SERVER_H

#include "recorder/control.h"
#include "recorder/poller.h"

#define KYMO_CONTROL_CALLERS 4u

struct kymo_control_server;

struct kymo_control_caller {
    struct kymo_poll_source source; /* fd -1: nobody */
    struct kymo_control_server *server;
    uint64_t deadline_ns; /* when it is answered at the latest; 0: it has not asked yet */
};

struct kymo_control_server {
    struct kymo_poll_source door; /* fd -1: not open */
    int door_is_shut;             /* for want of descriptors, until the next round */
    int poller;
    uint32_t next; /* the caller whose place is given away next */
    struct kymo_control_caller callers[KYMO_CONTROL_CALLERS];
    /* Does what is asked. */
    void (*select)(void *context, const char *markers);
    /* How far that has come: fills in told and later, which are 0. */
    void (*count)(void *context, struct kymo_control_answer *answer);
    void *context;
};

/* One that is not open; closing it does nothing. */
void kymo_control_server_init(struct kymo_control_server *server);
/* The caller sets select, count and context before. An error means that nobody can ask us, and no
 * more. */
KYMO_NODISCARD
kymo_err kymo_control_server_open(struct kymo_control_server *server, int poller);
/* Answers those for whom all is done, or who have waited long enough. */
void kymo_control_server_round(struct kymo_control_server *server, uint64_t now_ns);
/* Those who wait are answered. */
void kymo_control_server_close(struct kymo_control_server *server);

#endif
