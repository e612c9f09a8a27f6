/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_server.h - the socket by which the library in the program finds the recorder.
 *
 * Layer:    recorder
 * Flow:     start/connect.c <-> [attach_server]; buffer/attach.h says what is spoken
 * Threads:  the recorder's one thread
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_ATTACH_SERVER_H
#define KYMO_RECORDER_ATTACH_SERVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct kymo_attach_server {
    int listener;
    char name[64]; /* in the abstract namespace; not to be guessed */
};

KYMO_NODISCARD
kymo_err kymo_attach_server_open(struct kymo_attach_server *server, kymo_error *detail);
void kymo_attach_server_close(struct kymo_attach_server *server);

/* Takes a connection that is waiting, if it comes from this process (asked of the kernel, not of
 * the peer) and says HELLO; hands it the session's memory. Returns the connection, on which READY
 * is to come; -1 if there is none. */
int kymo_attach_server_welcome(struct kymo_attach_server *server, pid_t pid, int memory,
                               uint64_t size_bytes, uint64_t table_bytes);
/* Takes READY (waiting for it, not for ever), and says GO. The caller closes the connection. */
int kymo_attach_server_ready(int connection);
void kymo_attach_server_go(int connection);

#endif
