/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_server.h - the socket by which the library in a program finds the recorder.
 *
 * Layer:    recorder
 * Flow:     start/connect.c <-> [attach_server] <-> tree.c; buffer/attach.h says what is spoken
 * Threads:  the recorder's main thread
 * Signals:  not for handlers
 *
 * Nothing here waits: who connects and says nothing costs a descriptor, for as long as the tree
 * lets it.
 */
#ifndef KYMO_RECORDER_ATTACH_SERVER_H
#define KYMO_RECORDER_ATTACH_SERVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/attach.h"

struct kymo_attach_server {
    int listener;
    char name[64]; /* in the abstract namespace; not to be guessed */
};

/* Who is at the other end, as the kernel says. */
struct kymo_attach_peer {
    pid_t pid;
    uid_t uid;
};

KYMO_NODISCARD
kymo_err kymo_attach_server_open(struct kymo_attach_server *server, kymo_error *detail);
void kymo_attach_server_close(struct kymo_attach_server *server);

/* Takes a connection that is waiting; -1 if there is none. */
int kymo_attach_server_accept(const struct kymo_attach_server *server,
                              struct kymo_attach_peer *peer);
/* Takes the next message, which is to be of this kind: 1. 0: there is none yet; -1: the other end
 * is gone, or says something else. */
int kymo_attach_hear(int connection, enum kymo_attach_kind kind, struct kymo_attach_message *m);
/* Answers HELLO; memories (of which those that are -1 are left out, from the end) go along where
 * there is no error. Returns 0 if that failed. */
int kymo_attach_welcome(int connection, const struct kymo_attach_message *welcome,
                        const int memories[KYMO_ATTACH_MEMORIES]);
void kymo_attach_go(int connection);

#endif
