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
 * Nothing here waits: who connects and says nothing has its place until others want one.
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
};

struct kymo_control_server {
    struct kymo_poll_source door; /* fd -1: not open */
    int poller;
    uint32_t next; /* the caller whose place is given away next */
    struct kymo_control_caller callers[KYMO_CONTROL_CALLERS];
    /* Does what is asked; fills in told and later. */
    void (*select)(void *context, const char *markers, struct kymo_control_answer *answer);
    void *context;
};

/* One that is not open; closing it does nothing. */
void kymo_control_server_init(struct kymo_control_server *server);
/* The caller sets select and context before. An error means that nobody can ask us, and no more. */
KYMO_NODISCARD
kymo_err kymo_control_server_open(struct kymo_control_server *server, int poller);
void kymo_control_server_close(struct kymo_control_server *server);

#endif
