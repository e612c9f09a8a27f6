/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/attach_server.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "buffer/attach.h"
#include "buffer/session.h"

#define PATIENCE_SECONDS 10

kymo_err kymo_attach_server_open(struct kymo_attach_server *server, kymo_error *detail)
{
    uint64_t random[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return kymo_error_set_errno(detail, "cannot name the recorder's socket");
    int len = snprintf(server->name, sizeof server->name, "kymo-%d-%016" PRIx64 "%016" PRIx64,
                       (int)getpid(), random[0], random[1]);
    memcpy(address.sun_path + 1, server->name, (size_t)len);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    if (server->listener < 0 ||
        bind(server->listener, (const struct sockaddr *)&address, size) != 0 ||
        listen(server->listener, 16) != 0) {
        kymo_err err = kymo_error_set_errno(detail, "cannot open the recorder's socket");
        kymo_attach_server_close(server);
        return err;
    }
    return KYMO_OK;
}

void kymo_attach_server_close(struct kymo_attach_server *server)
{
    if (server->listener >= 0)
        close(server->listener);
    server->listener = -1;
}

static int hear(int fd, enum kymo_attach_kind kind, struct kymo_attach_message *m)
{
    return recv(fd, m, sizeof *m, 0) == (ssize_t)sizeof *m && m->magic == KYMO_ATTACH_MAGIC &&
           m->kind == kind;
}

static int send_memory(int fd, const struct kymo_attach_message *m, int memory)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct kymo_attach_message copy = *m;
    struct iovec iov = {&copy, sizeof copy};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (m->error == KYMO_OK) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &memory, sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}

int kymo_attach_server_welcome(struct kymo_attach_server *server, pid_t pid, int memory,
                               uint64_t size_bytes, uint64_t table_bytes)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    struct ucred peer = {0};
    socklen_t len = sizeof peer;
    struct kymo_attach_message m;
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
    /* Somebody else gets an answer, and no chance to keep us from the program. */
    struct timeval patience = {.tv_usec = 50000};
    if (peer.pid == pid)
        patience = (struct timeval){.tv_sec = PATIENCE_SECONDS};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        !hear(fd, KYMO_ATTACH_HELLO, &m)) {
        close(fd);
        return -1;
    }
    struct kymo_attach_message answer = {
        .magic = KYMO_ATTACH_MAGIC,
        .kind = KYMO_ATTACH_WELCOME,
        .layout = KYMO_SESSION_LAYOUT,
        .error = m.layout != KYMO_SESSION_LAYOUT ? KYMO_E_VERSION
                 : peer.pid != pid               ? KYMO_E_PERMISSION
                                                 : KYMO_OK,
        .size_bytes = size_bytes,
        .table_bytes = table_bytes,
    };
    if (!send_memory(fd, &answer, memory) || answer.error != KYMO_OK) {
        close(fd);
        return -1;
    }
    return fd;
}

int kymo_attach_server_ready(int connection)
{
    struct kymo_attach_message m;
    return hear(connection, KYMO_ATTACH_READY, &m);
}

void kymo_attach_server_go(int connection)
{
    struct kymo_attach_message m = {.magic = KYMO_ATTACH_MAGIC, .kind = KYMO_ATTACH_GO};
    ssize_t ignored = send(connection, &m, sizeof m, MSG_NOSIGNAL);
    (void)ignored;
}
