/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/attach_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "buffer/session.h"

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
        listen(server->listener, SOMAXCONN) != 0) {
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

int kymo_attach_server_accept(const struct kymo_attach_server *server,
                              struct kymo_attach_peer *peer)
{
    struct ucred from = {0};
    socklen_t len = sizeof from;
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &from, &len) != 0) {
        close(fd);
        return -1;
    }
    *peer = (struct kymo_attach_peer){from.pid, from.uid};
    return fd;
}

static int is_name(const struct kymo_attach_name *name, size_t bytes)
{
    size_t head = offsetof(struct kymo_attach_name, text);
    return bytes > head && bytes - head == name->text_bytes &&
           name->text[name->text_bytes - 1] == '\0';
}

int kymo_attach_hear(int connection, struct kymo_attach_hello *hello)
{
    const struct kymo_attach_message *m = &hello->m;
    ssize_t n = recv(connection, hello, sizeof *hello, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < (ssize_t)sizeof *m || m->magic != KYMO_ATTACH_MAGIC || m->kind != KYMO_ATTACH_HELLO ||
        (size_t)n - sizeof *m != m->name_bytes)
        return -1;
    return m->name_bytes == 0 || is_name(&hello->name, m->name_bytes) ? 1 : -1;
}

int kymo_attach_welcome(int connection, const struct kymo_attach_message *welcome,
                        const int descriptors[KYMO_ATTACH_DESCRIPTORS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(KYMO_ATTACH_DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct kymo_attach_message copy = *welcome;
    struct iovec iov = {&copy, sizeof copy};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    copy.magic = KYMO_ATTACH_MAGIC;
    copy.kind = KYMO_ATTACH_WELCOME;
    copy.layout = KYMO_SESSION_LAYOUT;
    int passed[KYMO_ATTACH_DESCRIPTORS];
    size_t n = 0;
    copy.has = 0;
    for (int i = 0; i < KYMO_ATTACH_DESCRIPTORS; i++)
        if (descriptors[i] >= 0) {
            copy.has |= 1u << i;
            passed[n++] = descriptors[i];
        }
    if (copy.error == KYMO_OK) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), passed, n * sizeof(int));
    }
    return sendmsg(connection, &message, MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}
