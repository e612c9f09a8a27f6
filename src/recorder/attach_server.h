/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_server.h - the socket on which programs connect to the recorder.
 *
 * Layer:    recorder
 * Flow:     start/connect.c <-> [attach_server] <-> tree.c; buffer/attach.h: the protocol
 * Threads:  the recorder's main thread
 * Signals:  not for handlers
 *
 * No function here waits. A client that connects and sends nothing occupies a descriptor until the
 * tree closes the connection.
 */
#ifndef KYMO_RECORDER_ATTACH_SERVER_H
#define KYMO_RECORDER_ATTACH_SERVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/attach.h"

struct kymo_attach_server {
    int listener;
    char name[64]; /* in the abstract namespace; random */
};

/* The process at the other end, as the kernel reports it. */
struct kymo_attach_peer {
    pid_t pid;
    uid_t uid;
};

KYMO_NODISCARD
kymo_err kymo_attach_server_open(struct kymo_attach_server *server, kymo_error *detail);
void kymo_attach_server_close(struct kymo_attach_server *server);

/* Accepts a waiting connection; -1 if there is none. */
int kymo_attach_server_accept(const struct kymo_attach_server *server,
                              struct kymo_attach_peer *peer);
/* Receives HELLO. Returns 1; 0: no message yet; -1: the connection is closed, or the message is
 * another one. The text of a name that came with it ends with a NUL. */
int kymo_attach_hear(int connection, struct kymo_attach_hello *hello);
/* Answers HELLO. Without an error, the descriptors are sent along; those that are -1 are left out.
 * Returns 0 on failure. */
int kymo_attach_welcome(int connection, const struct kymo_attach_message *welcome,
                        const int descriptors[KYMO_ATTACH_DESCRIPTORS]);

#endif
