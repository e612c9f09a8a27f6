/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kvload.c - the client of kvserver.c: so many connections ask for so many things at once, and
 * check every answer.
 *
 *     kvload SOCKET [REQUESTS [CONNECTIONS]]
 *
 * Waits for the server to come, has it stop at the end, and prints what it sent and got. Its
 * markers are of the same flows as the server's: in a recording of both, a request is followed from
 * one process into the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kv_marks.h"
#include "kv_store.h"

enum {
    REQUESTS = 20000,
    CONNECTIONS = 8,
    CONNECTIONS_MOST = 64,
    KEYS = 2000,
    LINE_MAX_BYTES = 128,
    PATIENCE_MS = 10000,
};

struct client {
    pthread_t thread;
    const char *path;
    uint64_t number, step;
    uint64_t requests;
    uint64_t sent, received, hits, wrong;
    uint32_t random;
    int fd;
    char value[KV_VALUE_MAX];
};

static void die(const char *what)
{
    fprintf(stderr, "kvload: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint32_t next_random(struct client *client)
{
    uint32_t x = client->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return client->random = x;
}

/* The server may not have come yet. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        die(path);
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int waited_ms = 0; fd >= 0 && waited_ms < PATIENCE_MS; waited_ms += 10) {
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            return fd;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    die(path);
    return -1;
}

static void send_all(struct client *client, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(client->fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            die("send");
        if (n < 0)
            continue;
        bytes += n;
        len -= (size_t)n;
        client->sent += (uint64_t)n;
    }
}

static void receive_all(struct client *client, char *bytes, size_t len)
{
    while (len) {
        ssize_t n = recv(client->fd, bytes, len, 0);
        if (n == 0)
            errno = ECONNRESET;
        if (n == 0 || (n < 0 && errno != EINTR))
            die("recv");
        if (n < 0)
            continue;
        bytes += n;
        len -= (size_t)n;
        client->received += (uint64_t)n;
    }
}

/* What is under a key: text made of the key's number and the length. */
static void make_value(char *value, uint32_t key, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        value[i] = (char)('a' + (key + i) % 26);
}

/* The answer to request id: the length of its value. */
static uint32_t receive_answer(struct client *client, uint64_t id, char outcome[8])
{
    char line[LINE_MAX_BYTES] = {0};
    size_t at = 0;
    do {
        receive_all(client, line + at, 1);
    } while (line[at++] != '\n' && at < sizeof(line) - 1);
    uint64_t answered;
    uint32_t len = 0;
    if (sscanf(line, "%" SCNu64 " %7s %" SCNu32, &answered, outcome, &len) != 3 || answered != id ||
        len > KV_VALUE_MAX) {
        fprintf(stderr, "kvload: no answer: %s", line);
        exit(1);
    }
    receive_all(client, client->value, len);
    return len;
}

static void check_value(struct client *client, uint32_t key, uint32_t len)
{
    static __thread char expected[KV_VALUE_MAX];
    make_value(expected, key, len);
    client->hits++;
    client->wrong += memcmp(expected, client->value, len) != 0;
}

static void ask(struct client *client, uint64_t id)
{
    uint32_t chance = next_random(client) % 100;
    /* Low ones are asked for more often. */
    uint32_t key = next_random(client) % KEYS * (next_random(client) % KEYS) / KEYS;
    uint32_t len = 512 + next_random(client) % 8192;
    const char *operation = chance < 70   ? "get"
                            : chance < 94 ? "set"
                            : chance < 98 ? "del"
                                          : "scan";
    char line[LINE_MAX_BYTES], outcome[8];
    int is_set = operation[0] == 's' && operation[1] == 'e';
    int n = snprintf(line, sizeof(line), "%" PRIu64 " %s key-%" PRIu32, id, operation, key);
    n += snprintf(line + n, sizeof(line) - (size_t)n, is_set ? " %" PRIu32 "\n" : "\n", len);

    KYMO_SCOPE_T(net, "ask", kv_step, step);
    step.id = id;
    step.flow = kymo_flow_global(id);
    send_all(client, line, (size_t)n);
    if (is_set) {
        make_value(client->value, key, len);
        send_all(client, client->value, len);
    }
    len = receive_answer(client, id, outcome);
    if (len)
        check_value(client, key, len);
}

static void *client_thread(void *argument)
{
    struct client *client = argument;
    client->fd = connect_to(client->path);
    /* Numbers that no other client has. */
    for (uint64_t i = 0; i < client->requests; i++)
        ask(client, i * client->step + client->number);
    close(client->fd);
    return NULL;
}

static void stop_server(struct client *client)
{
    char outcome[8];
    client->fd = connect_to(client->path);
    send_all(client, "0 stop\n", 7);
    receive_answer(client, 0, outcome);
    close(client->fd);
}

int main(int argc, char **argv)
{
    uint64_t requests = argc > 2 ? strtoull(argv[2], NULL, 10) : REQUESTS;
    uint64_t connections = argc > 3 ? strtoull(argv[3], NULL, 10) : CONNECTIONS;
    if (argc < 2 || argc > 4 || connections == 0 || connections > CONNECTIONS_MOST) {
        fprintf(stderr, "usage: kvload SOCKET [REQUESTS [CONNECTIONS, up to %d]]\n",
                CONNECTIONS_MOST);
        return 2;
    }
    struct client *clients = calloc(connections, sizeof(*clients));
    if (!clients)
        die("memory");
    for (uint64_t i = 0; i < connections; i++) {
        clients[i].path = argv[1];
        clients[i].number = i + 1;
        clients[i].step = connections;
        clients[i].random = (uint32_t)i * 2654435761u + 1;
        clients[i].requests = requests / connections + (i < requests % connections);
        if (pthread_create(&clients[i].thread, NULL, client_thread, &clients[i]) != 0)
            die("thread");
        pthread_setname_np(clients[i].thread, "client");
    }
    struct client sum = {.path = argv[1]};
    for (uint64_t i = 0; i < connections; i++) {
        pthread_join(clients[i].thread, NULL);
        sum.sent += clients[i].sent;
        sum.received += clients[i].received;
        sum.hits += clients[i].hits;
        sum.wrong += clients[i].wrong;
    }
    stop_server(&sum);
    free(clients);
    printf("{\"requests\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"received\":%" PRIu64
           ",\"hits\":%" PRIu64 ",\"wrong\":%" PRIu64 "}\n",
           requests + 1, sum.sent, sum.received, sum.hits, sum.wrong);
    return sum.wrong != 0;
}
