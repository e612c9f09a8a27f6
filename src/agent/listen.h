/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.h - an address where an agent can be asked: its syntax, and its socket.
 *
 * Layer:    agent
 * Flow:     listen= -> [listen] -> pull_server.c
 * Threads:  one owner
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_LISTEN_H
#define KYMO_AGENT_LISTEN_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"

#define KYMO_LISTEN_NAME_MAX 192u

struct kymo_listen {
    struct sockaddr_storage address; /* ss_family AF_UNSPEC: none */
    socklen_t size;
    int has_file; /* that of a Unix socket was made */
};

/* "PORT" of 127.0.0.1, "ADDRESS:PORT", "[ADDRESS]:PORT", or "unix:PATH". Port 0: one that is free.
 * Names of hosts are not looked up, but localhost. */
KYMO_NODISCARD
kymo_err kymo_listen_parse(struct kymo_listen *listen, const char *text, kymo_error *detail);
/* Whether processes of this machine alone can reach it. */
int kymo_listen_is_local(const struct kymo_listen *listen);
/* Makes the socket; *fd is the caller's. The file of a Unix socket is for its owner alone. A file
 * of that name is removed if it is a socket of ours that no process listens on. */
KYMO_NODISCARD
kymo_err kymo_listen_open(struct kymo_listen *listen, int *fd, kymo_error *detail);
/* When the socket is closed, in all processes: removes the file of a Unix socket, unless another
 * process listens on it by now. */
void kymo_listen_remove(struct kymo_listen *listen);
/* "http://127.0.0.1:6060" or "unix:/run/kymo.sock"; of an open one with its real port. */
const char *kymo_listen_name(const struct kymo_listen *listen, char out[KYMO_LISTEN_NAME_MAX]);

#endif
