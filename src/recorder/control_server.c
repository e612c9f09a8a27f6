/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/control_server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/word_list.h"
#include "sys/clock.h"

/* A running process has answered within microseconds; a stopped one may never answer. */
#define PATIENCE_NS 1000000000ull
/* Reads what a busy program has written for at most this long, so that it ends. */
#define READING_NS 60000000000ull

static void drop(struct kymo_control_caller *caller)
{
    if (caller->source.fd < 0)
        return;
    kymo_poller_remove(caller->server->poller, &caller->source);
    close(caller->source.fd);
    caller->source.fd = -1;
    caller->deadline_ns = 0;
}

static void refuse(struct kymo_control_caller *caller, kymo_err err)
{
    const struct kymo_control_answer refusal = {.magic = KYMO_CONTROL_MAGIC, .error = err};
    (void)!kymo_control_send(caller->source.fd, &refusal, -1);
    drop(caller);
}

/* Answers a caller that has sent its request and may still have to wait. */
static void answer_if_done(struct kymo_control_caller *caller, uint64_t now_ns)
{
    const struct kymo_control_server *server = caller->server;
    const struct kymo_control_request *request = &caller->request;
    struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC};
    kymo_err err = server->count(server->context, request, caller->asked_ns, &answer);
    if (err == KYMO_OK && answer.later && now_ns < caller->deadline_ns)
        return;
    if (err == KYMO_OK && kymo_control_is_for_file(request->what))
        err = server->answer(server->context, request, caller->asked_ns, caller->source.fd);
    else if (err == KYMO_OK)
        err = kymo_control_send(caller->source.fd, &answer, -1);
    if (err != KYMO_OK)
        refuse(caller, err);
    drop(caller);
}

static int is_list(const struct kymo_control_request *request)
{
    size_t len = strnlen(request->markers, sizeof request->markers);
    return len < sizeof request->markers && kymo_word_list_is(request->markers, len);
}

static int is_format(const struct kymo_control_request *request)
{
    return strnlen(request->format, sizeof request->format) < sizeof request->format;
}

static int is_well_formed(const struct kymo_control_request *request)
{
    switch (request->what) {
    case KYMO_CONTROL_MARKERS:
        return is_list(request);
    case KYMO_CONTROL_SET:
        return memchr(request->markers, '\0', sizeof request->markers) != NULL;
    case KYMO_CONTROL_ALLOC:
        return request->rate <= KYMO_CONTROL_RATE_MAX;
    case KYMO_CONTROL_CPU:
    case KYMO_CONTROL_WALL:
        return request->rate > 0 && request->rate <= KYMO_CONTROL_PERIOD_MAX_NS;
    case KYMO_CONTROL_HEAP:
        return request->pid > 0 && is_format(request);
    case KYMO_CONTROL_SNAPSHOT:
        return is_format(request);
    case KYMO_CONTROL_CATEGORIES:
        return request->pid >= 0;
    case KYMO_CONTROL_PROFILE:
        return request->duration_ns > 0 && request->duration_ns <= KYMO_CONTROL_DURATION_MAX_NS &&
               request->show <= KYMO_CONTROL_SHOW_ALLOC && is_format(request);
    case KYMO_CONTROL_STATUS:
    case KYMO_CONTROL_FLUSH:
    case KYMO_CONTROL_PAUSE:
    case KYMO_CONTROL_RESUME:
        return 1;
    default:
        return 0;
    }
}

/* Receives a request and obeys it; the answer is sent later. An invalid request ends the
 * connection, and so does a second one. */
static kymo_err hear_caller(void *context)
{
    struct kymo_control_caller *caller = context;
    const struct kymo_control_server *server = caller->server;
    struct kymo_control_request request;
    /* MSG_TRUNC: the full length of a longer message. */
    ssize_t n = recv(caller->source.fd, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return KYMO_OK;
    if (n != (ssize_t)sizeof request || request.magic != KYMO_CONTROL_MAGIC ||
        caller->deadline_ns != 0) {
        drop(caller);
        return KYMO_OK;
    }
    kymo_err err =
        is_well_formed(&request) ? server->obey(server->context, &request) : KYMO_E_INVALID;
    if (err != KYMO_OK) {
        refuse(caller, err);
        return KYMO_OK;
    }
    caller->request = request;
    caller->asked_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    caller->deadline_ns =
        caller->asked_ns + (kymo_control_takes_long(request.what) ? READING_NS : PATIENCE_NS);
    if (request.what == KYMO_CONTROL_PROFILE)
        caller->deadline_ns += request.duration_ns;
    answer_if_done(caller, caller->asked_ns);
    return KYMO_OK;
}

/* Frees a caller's place for another one; its request is obeyed and answered first. */
static void send_away(struct kymo_control_caller *caller)
{
    if (caller->source.fd >= 0 && caller->deadline_ns == 0)
        (void)hear_caller(caller);
    if (caller->source.fd >= 0 && caller->deadline_ns != 0)
        answer_if_done(caller, UINT64_MAX);
    drop(caller);
}

static int waits_for_profile(const struct kymo_control_caller *caller)
{
    return caller->source.fd >= 0 && caller->deadline_ns != 0 &&
           caller->request.what == KYMO_CONTROL_PROFILE;
}

/* A free place, else the next one whose caller does not wait for its seconds to pass. */
static struct kymo_control_caller *choose_place(struct kymo_control_server *server)
{
    struct kymo_control_caller *other = NULL;
    for (uint32_t i = 0; i < KYMO_CONTROL_CALLERS; i++) {
        struct kymo_control_caller *c = &server->callers[(server->next + i) % KYMO_CONTROL_CALLERS];
        if (c->source.fd < 0)
            return c;
        if (!other && !waits_for_profile(c))
            other = c;
    }
    if (!other)
        other = &server->callers[server->next % KYMO_CONTROL_CALLERS];
    server->next = (uint32_t)(other - server->callers) + 1;
    return other;
}

/* Allows the same user and root, who may trace the program anyway. */
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
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        /* waiting callers would wake the recorder again and again */
        kymo_poller_remove(server->poller, &server->door);
        server->door_is_shut = 1;
    }
    if (fd < 0)
        return KYMO_OK;
    if (!is_welcome(fd)) {
        close(fd);
        return KYMO_OK;
    }
    struct kymo_control_caller *caller = choose_place(server);
    send_away(caller);
    caller->source = (struct kymo_poll_source){fd, hear_caller, caller};
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

void kymo_control_server_round(struct kymo_control_server *server, uint64_t now_ns)
{
    if (server->door_is_shut && kymo_poller_add(server->poller, &server->door) == KYMO_OK)
        server->door_is_shut = 0;
    for (uint32_t i = 0; i < KYMO_CONTROL_CALLERS; i++)
        if (server->callers[i].source.fd >= 0 && server->callers[i].deadline_ns != 0)
            answer_if_done(&server->callers[i], now_ns);
}

uint64_t kymo_control_server_since(const struct kymo_control_server *server)
{
    uint64_t since_ns = UINT64_MAX;
    for (uint32_t i = 0; i < KYMO_CONTROL_CALLERS; i++)
        if (waits_for_profile(&server->callers[i]) && server->callers[i].asked_ns < since_ns)
            since_ns = server->callers[i].asked_ns;
    return since_ns;
}

void kymo_control_server_close(struct kymo_control_server *server)
{
    for (uint32_t i = 0; i < KYMO_CONTROL_CALLERS; i++)
        send_away(&server->callers[i]);
    if (server->door.fd >= 0) {
        kymo_poller_remove(server->poller, &server->door);
        close(server->door.fd);
    }
    server->door.fd = -1;
}
