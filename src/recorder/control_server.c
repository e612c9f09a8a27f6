/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/control_server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void drop(struct kymo_control_caller *caller)
{
    if (caller->source.fd < 0)
        return;
    kymo_poller_remove(caller->server->poller, &caller->source);
    close(caller->source.fd);
    caller->source.fd = -1;
}

/* A list is words and nothing that ends a line of a log. */
static int is_text(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return 0;
    return 1;
}

/* What was said is answered, and the connection ends; so it does if it was nonsense. */
static kymo_err answer_caller(void *context)
{
    struct kymo_control_caller *caller = context;
    struct kymo_control_request request;
    struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC};
    ssize_t n = recv(caller->source.fd, &request, sizeof request, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return KYMO_OK;
    if (n == (ssize_t)sizeof request && request.magic == KYMO_CONTROL_MAGIC) {
        if (memchr(request.markers, '\0', sizeof request.markers) && is_text(request.markers))
            caller->server->select(caller->server->context, request.markers, &answer);
        else
            answer.error = KYMO_E_INVALID;
        (void)!send(caller->source.fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    drop(caller);
    return KYMO_OK;
}

/* Ourselves and root: whoever may trace the program anyway. */
static int is_welcome(int fd)
{
    struct ucred from = {0};
    socklen_t len = sizeof from;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &from, &len) == 0 &&
           (from.uid == geteuid() || from.uid == 0);
}

static kymo_err open_door(void *context)
{
    struct kymo_control_server *server = context;
    int fd = accept4(server->door.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return KYMO_OK;
    if (!is_welcome(fd)) {
        close(fd);
        return KYMO_OK;
    }
    struct kymo_control_caller *caller = &server->callers[server->next++ % KYMO_CONTROL_CALLERS];
    drop(caller);
    caller->source = (struct kymo_poll_source){fd, answer_caller, caller};
    if (kymo_poller_add(server->poller, &caller->source) != KYMO_OK) {
        close(fd);
        caller->source.fd = -1;
    }
    return KYMO_OK;
}

void kymo_control_server_init(struct kymo_control_server *server)
{
    memset(server, 0, sizeof *server);
    server->door.fd = -1;
    for (uint32_t i = 0; i < KYMO_CONTROL_CALLERS; i++) {
        server->callers[i].source.fd = -1;
        server->callers[i].server = server;
    }
}

kymo_err kymo_control_server_open(struct kymo_control_server *server, int poller)
{
    struct sockaddr_un address;
    socklen_t size = kymo_control_address(getpid(), &address);
    server->poller = poller;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    server->door = (struct kymo_poll_source){fd, open_door, server};
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, size) == 0 &&
        listen(fd, KYMO_CONTROL_CALLERS) == 0 && kymo_poller_add(poller, &server->door) == KYMO_OK)
        return KYMO_OK;
    kymo_err err = kymo_err_from_errno(errno);
    if (fd >= 0)
        close(fd);
    server->door.fd = -1;
    return err;
}

void kymo_control_server_close(struct kymo_control_server *server)
{
    for (uint32_t i = 0; i < KYMO_CONTROL_CALLERS; i++)
        drop(&server->callers[i]);
    if (server->door.fd >= 0) {
        kymo_poller_remove(server->poller, &server->door);
        close(server->door.fd);
    }
    server->door.fd = -1;
}
