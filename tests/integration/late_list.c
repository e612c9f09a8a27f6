/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_list.c - a recorder that changes the list of markers while a process attaches: the process,
 * and a child that it forks, follow the new list, whether they look at it by themselves or are
 * called.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/attach_server.h"
#include "recorder/bell.h"
#include "recorder/host.h"

enum { PATIENCE_MS = 600000 };

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

/* Lets a process attach, to a list that is another one by then. Returns its pid. */
static pid_t take_in(const struct kymo_attach_server *server, const kymo_bell *bell)
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
    const struct timespec pause = {.tv_nsec = 1000000};
    must(kymo_host_create(&config, &host, NULL) == KYMO_OK, "no session");
    wait_for(server->listener);
    int connection = kymo_attach_server_accept(server, &peer);
    must(connection >= 0, "no connection came");
    struct kymo_attach_hello hello;
    wait_for(connection);
    must(kymo_attach_hear(connection, &hello) == 1, "something else was said");
    const int descriptors[KYMO_ATTACH_DESCRIPTORS] = {kymo_host_memory(host),
                                                      kymo_bell_memory(bell), -1, -1};
    const struct kymo_attach_message welcome = {.size_bytes = kymo_host_bytes(host)};
    kymo_host_identify(host, peer.pid, 0, &hello);
    must(kymo_attach_welcome(connection, &welcome, descriptors), "no welcome");
    kymo_host_select(host, "net");
    close(connection);
    for (int i = 0; kymo_host_selected(host) != KYMO_HOST_TOLD; i++) {
        must(i < PATIENCE_MS, "a process missed the change");
        nanosleep(&pause, NULL);
    }
    kymo_host_destroy(host);
    return peer.pid;
}

int main(void)
{
    struct kymo_attach_server server;
    kymo_bell *bell;
    int status;
    must(kymo_attach_server_open(&server, NULL) == KYMO_OK, "no socket");
    must(kymo_bell_open(&bell, NULL) == KYMO_OK, "no bell");
    pid_t pid = fork();
    if (pid == 0) {
        setenv("LD_PRELOAD", KYMO_TEST_PRELOAD, 1);
        setenv(KYMO_ATTACH_ENV, server.name, 1);
        execl("/bin/sh", "sh", "-c", "(while :; do :; done) || exit 0", (char *)NULL);
        _exit(2);
    }
    must(take_in(&server, bell) == pid, "something else attached");
    pid_t child = take_in(&server, bell);
    must(kill(child, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && status == 0,
         "the program failed");
    kymo_bell_close(bell);
    kymo_attach_server_close(&server);
    return 0;
}
