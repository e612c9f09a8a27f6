/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_list.c - a recorder that changes the list of markers after a process has looked at it, and
 * before the process may be called: the process, and a child that it forks, follow the new list
 * without a signal.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/attach_server.h"
#include "recorder/bell.h"
#include "recorder/host.h"

enum { PROCESSES = 2, PATIENCE_MS = 600000 };

static const kymo_event_handler no_events;

static void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "late_list: %s\n", what);
    exit(1);
}

static void wait_for(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    must(poll(&p, 1, PATIENCE_MS) == 1, "no byte came");
}

static void hear(int connection, enum kymo_attach_kind kind)
{
    struct kymo_attach_message m;
    wait_for(connection);
    must(kymo_attach_hear(connection, kind, &m) == 1, "something else was said");
}

/* Lets a process attach, to a list that is another one by then. */
static kymo_host *take_in(const struct kymo_attach_server *server, const kymo_bell *bell)
{
    const struct kymo_host_config config = {
        .buffer_bytes = 2u << 20,
        .period_ns = 1000000000,
        .depth = 64,
        .signal = SIGURG,
        .engine = KYMO_SESSION_TIMER,
        .clock = KYMO_CLOCK_MONOTONIC,
        .events = &no_events,
        .flags = KYMO_SESSION_CHILDREN | KYMO_SESSION_WALL,
    };
    struct kymo_attach_peer peer;
    kymo_host *host;
    must(kymo_host_create(&config, &host, NULL) == KYMO_OK, "no session");
    wait_for(server->listener);
    int connection = kymo_attach_server_accept(server, &peer);
    must(connection >= 0, "no connection came");
    hear(connection, KYMO_ATTACH_HELLO);
    const int memories[KYMO_ATTACH_MEMORIES] = {kymo_host_memory(host), kymo_bell_memory(bell), -1};
    const struct kymo_attach_message welcome = {.size_bytes = kymo_host_bytes(host)};
    must(kymo_attach_welcome(connection, &welcome, memories), "no welcome");
    hear(connection, KYMO_ATTACH_READY);
    must(kymo_host_selected(host) == KYMO_HOST_TOLD, "the first list was not looked at");
    kymo_host_select(host, "net");
    kymo_attach_go(connection);
    close(connection);
    return host;
}

int main(void)
{
    struct kymo_attach_server server;
    kymo_bell *bell;
    kymo_host *hosts[PROCESSES];
    int status;
    must(kymo_attach_server_open(&server, NULL) == KYMO_OK, "no socket");
    must(kymo_bell_open(&bell, NULL) == KYMO_OK, "no bell");
    pid_t pid = fork();
    if (pid == 0) {
        setenv("LD_PRELOAD", KYMO_TEST_PRELOAD, 1);
        setenv(KYMO_ATTACH_ENV, server.name, 1);
        execl("/bin/sh", "sh", "-c", "(exit 3) || exit 0", (char *)NULL);
        _exit(2);
    }
    for (int i = 0; i < PROCESSES; i++)
        hosts[i] = take_in(&server, bell);
    must(waitpid(pid, &status, 0) == pid && status == 0, "the program failed");
    for (int i = 0; i < PROCESSES; i++) {
        must(kymo_host_selected(hosts[i]) == KYMO_HOST_TOLD,
             i ? "the forked child missed the change" : "the program missed the change");
        kymo_host_destroy(hosts[i]);
    }
    kymo_bell_close(bell);
    kymo_attach_server_close(&server);
    return 0;
}
