/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_server.c - a program that tells Prometheus of its memory: kymo_memory_snapshot by HTTP.
 *
 *     memory_server [PORT]      on 127.0.0.1; 0, any port: it prints which, and ends with its input
 *     GET /metrics              text for Prometheus
 *     GET /memory.json          the same as JSON (doc/memory-json.md)
 *
 * To be linked with -lkymo; needs no recorder. In prometheus.yml:
 *
 *     scrape_configs: [{job_name: memory, static_configs: [{targets: ["127.0.0.1:9464"]}]}]
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kymo/memory.h"

/* A sink that sends: the snapshot never lies in memory as a whole on our side. */
struct socket_sink {
    kymo_sink sink; /* first, so that it converts back */
    int fd;
};

static kymo_err send_all(kymo_sink *sink, const void *data, size_t len)
{
    int fd = ((struct socket_sink *)sink)->fd;
    const char *at = data;
    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return KYMO_E_IO;
        at += n;
        len -= (size_t)n;
    }
    return KYMO_OK;
}

static void answer(int fd)
{
    static const char not_found[] = "HTTP/1.0 404 Not Found\r\n\r\n";
    struct socket_sink to = {{send_all}, fd};
    char request[2048], head[128];
    ssize_t n = recv(fd, request, sizeof request - 1, 0);
    request[n > 0 ? n : 0] = '\0';
    int is_json = strncmp(request, "GET /memory.json ", 17) == 0;
    if (!is_json && strncmp(request, "GET /metrics ", 13) != 0) {
        (void)send_all(&to.sink, not_found, sizeof not_found - 1);
        return;
    }
    snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nContent-Type: %s\r\n\r\n",
             is_json ? "application/json" : "text/plain; version=0.0.4");
    if (send_all(&to.sink, head, strlen(head)) == KYMO_OK)
        (void)kymo_memory_snapshot(is_json ? KYMO_MEMORY_JSON : KYMO_MEMORY_PROMETHEUS,
                                   KYMO_MEMORY_ALL, &to.sink);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((in_port_t)(argc > 1 ? atoi(argv[1]) : 9464));
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server, (struct sockaddr *)&address, len) != 0 || listen(server, 16) != 0 ||
        getsockname(server, (struct sockaddr *)&address, &len) != 0) {
        perror("memory_server");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct pollfd fds[] = {{server, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 || fds[1].revents)
            return 0;
        int client = accept(server, NULL, NULL);
        if (client < 0)
            continue;
        answer(client);
        close(client);
    }
}
