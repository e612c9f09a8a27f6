/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kvserver.c - a key-value server whose authors put markers, counters and labels into it.
 *
 * It listens on a Unix socket and keeps a journal of all requests beside it. Three kinds of
 * threads:
 *
 *     main      reads requests from all connections            -> queue of work
 *     worker    four of them: look into the store              -> answer, queue of the journal
 *     journal   writes what the queue has as one piece         -> answers to what changed something
 *
 * So each request is in at least three threads. Its flow connects its markers there, and its number
 * is a label of whatever its worker does, samples included. kvload.c is the client.
 *
 *     kymo record -o kv.json.gz -- sh -c 'kvserver /tmp/kv & kvload /tmp/kv'
 *
 * A request is a line, "NUMBER get KEY", "NUMBER set KEY BYTES" with so many bytes behind it,
 * "NUMBER del KEY", "NUMBER scan PREFIX" or "NUMBER stop". An answer is a line, "NUMBER OUTCOME
 * BYTES", and its bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "kv_marks.h"
#include "kv_request.h"
#include "kv_store.h"

enum {
    WORKERS = 4,
    CLIENTS_MAX = 64,
    SEND_PATIENCE_S = 5,
};

KYMO_COUNTER(bytes_received, net, "Bytes received", TOTAL, "bytes", GREEN);

static struct kv_store *store;
static struct kv_queue work, to_journal;
static atomic_ullong received;
static int stop_pipe[2];

static void die(const char *what)
{
    fprintf(stderr, "kvserver: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- workers ---- */

static __attribute__((noinline)) void execute(struct kv_request *request)
{
    KYMO_LABEL_SCOPE("request_id", request->id);
    KYMO_SCOPE_T(request, "execute", kv_step, step);
    step.id = request->id;
    step.flow = request->flow;
    switch (request->operation) {
    case KV_GET: {
        int64_t len = kv_store_get(store, request->key, request->value);
        request->outcome = len < 0 ? KV_NONE : KV_OK;
        request->len = len < 0 ? 0 : (uint32_t)len;
        break;
    }
    case KV_SET: {
        int put = kv_store_put(store, request->key, request->value, request->len);
        request->outcome = put < 0 ? KV_FAILED : put ? KV_NEW : KV_OK;
        break;
    }
    case KV_DEL:
        request->outcome = kv_store_remove(store, request->key) ? KV_OK : KV_NONE;
        break;
    case KV_SCAN:
        request->outcome = kv_store_scan(store, request->key) ? KV_OK : KV_NONE;
        break;
    default:
        request->outcome = KV_OK;
    }
}

/* Whether the answer waits until the journal has it. */
static int changes_something(const struct kv_request *request)
{
    return request->operation == KV_SET || request->operation == KV_DEL;
}

static void *worker(void *unused)
{
    (void)unused;
    struct kv_request *request;
    while ((request = kv_queue_pop(&work, 0))) {
        if (request->queued)
            KYMO_MARKER_T_OPT(waiting, "queued", kv_step,
                              KYMO_OPTIONS(.timing = KYMO_TIMING_SINCE, .start = request->queued),
                              .id = request->id, .flow = request->flow);
        execute(request);
        if (!changes_something(request)) {
            KYMO_LABEL_SCOPE("request_id", request->id);
            kv_request_answer(request);
        }
        kv_queue_push(&to_journal, request);
    }
    return NULL;
}

/* ---- the journal ---- */

struct journal_file {
    int fd;
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 16];
    char text[64 * 1024];
    size_t filled;
    uint32_t entries;
};

static void journal_write(struct journal_file *file)
{
    if (!file->filled)
        return;
    KYMO_SCOPE_T(journal, "write", kv_journal_write, marker);
    marker.path = file->path;
    marker.entries = file->entries;
    marker.bytes = file->filled;
    for (size_t at = 0; at < file->filled;) {
        ssize_t n = write(file->fd, file->text + at, file->filled - at);
        if (n < 0 && errno != EINTR)
            die(file->path);
        at += n > 0 ? (size_t)n : 0;
    }
    file->filled = 0;
    file->entries = 0;
}

static void journal_note(struct journal_file *file, const struct kv_request *request)
{
    if (file->filled + 2 * KV_LINE_MAX > sizeof(file->text))
        journal_write(file);
    int n =
        snprintf(file->text + file->filled, 2 * KV_LINE_MAX, "%" PRIu64 " %s %s %s %" PRIu32 "\n",
                 request->id, kv_operation_names[request->operation].text, request->key,
                 kv_outcome_names[request->outcome].text, request->len);
    file->filled += (size_t)n;
    file->entries++;
}

/* Answers those that waited for it. */
static void journal_let_go(struct kv_request *request)
{
    while (request) {
        struct kv_request *next = request->next;
        int is_answered_here = changes_something(request);
        KYMO_LABEL_SCOPE("request_id", request->id);
        KYMO_SCOPE_T(journal, "journaled", kv_last_step, step);
        step.id = request->id;
        step.flow = request->flow;
        step.answered = is_answered_here;
        if (is_answered_here)
            kv_request_answer(request);
        kv_client_release(request->from);
        free(request);
        request = next;
    }
}

static void *journal_thread(void *argument)
{
    struct journal_file *file = argument;
    struct kv_request *chain;
    while ((chain = kv_queue_pop(&to_journal, 1))) {
        for (const struct kv_request *request = chain; request; request = request->next)
            journal_note(file, request);
        journal_write(file);
        journal_let_go(chain);
    }
    return NULL;
}

/* ---- the main thread ---- */

/* The request in these bytes: how many of them it takes, 0: there is more to come, -1: it is none.
 */
static int64_t parse(struct kv_client *client, const char *bytes, size_t len,
                     struct kv_request **out)
{
    const char *end = memchr(bytes, '\n', len < KV_LINE_MAX ? len : KV_LINE_MAX);
    if (!end)
        return len < KV_LINE_MAX ? 0 : -1;
    char line[KV_LINE_MAX + 1] = {0}, operation[8], key[KV_KEY_MAX + 1] = "";
    memcpy(line, bytes, (size_t)(end - bytes));
    uint64_t id;
    uint32_t value = 0;
    int fields = sscanf(line, "%" SCNu64 " %7s %63s %" SCNu32, &id, operation, key, &value);
    int which = 0;
    while (which < KV_OPERATIONS && strcmp(kv_operation_names[which].text, operation) != 0)
        which++;
    if (which == KV_OPERATIONS ||
        fields < (which == KV_STOP  ? 2
                  : which == KV_SET ? 4
                                    : 3) ||
        value > KV_VALUE_MAX)
        return -1;
    size_t head = (size_t)(end - bytes) + 1;
    if (which != KV_SET)
        value = 0;
    if (len < head + value)
        return 0;
    struct kv_request *request =
        calloc(1, sizeof(*request) + (which == KV_SET ? value : KV_VALUE_MAX));
    if (!request)
        die("memory");
    request->from = client;
    request->id = id;
    request->operation = (enum kv_operation)which;
    request->len = value;
    memcpy(request->key, key, sizeof(key));
    memcpy(request->value, bytes + head, value);
    *out = request;
    return (int64_t)(head + value);
}

/* All requests that are there; -1: the client does not speak our language. */
static int take_requests(struct kv_client *client)
{
    size_t at = 0;
    for (;;) {
        struct kv_request *request;
        int64_t taken = parse(client, client->input + at, client->filled - at, &request);
        if (taken < 0)
            return -1;
        if (taken == 0)
            break;
        at += (size_t)taken;
        client->requests++;
        atomic_fetch_add(&client->users, 1);
        if (request->operation == KV_STOP && write(stop_pipe[1], "", 1) < 0)
            die("stop");
        /* The client takes the flow from the same number, in its own process. */
        request->flow = kymo_flow_global(request->id);
        request->interval = KYMO_INTERVAL_BEGIN(request, "request");
        KYMO_MARKER_T(request, "read", kv_step, .id = request->id, .flow = request->flow);
        kv_queue_push(&work, request);
    }
    client->filled -= at;
    memmove(client->input, client->input + at, client->filled);
    return 0;
}

/* -1: it is over. */
static int read_some(struct kv_client *client)
{
    ssize_t n = recv(client->fd, client->input + client->filled,
                     sizeof(client->input) - client->filled, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    KYMO_MARKER_VALUES(detail, "recv", n, client->filled);
    if (n == 0)
        return -1;
    client->filled += (size_t)n;
    client->received += (uint64_t)n;
    atomic_fetch_add(&received, (unsigned long long)n);
    KYMO_COUNT(bytes_received, n);
    return take_requests(client);
}

static struct kv_client *accept_one(int listener, uint64_t number)
{
    int fd = accept(listener, NULL, NULL);
    struct kv_client *client = fd < 0 ? NULL : calloc(1, sizeof(*client));
    if (!client) {
        KYMO_MARKER_VALUES(net, "accept failed", fd, errno);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    struct timeval patience = {.tv_sec = SEND_PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    client->fd = fd;
    client->number = number;
    atomic_store(&client->users, 1);
    pthread_mutex_init(&client->sending, NULL);
    client->interval = KYMO_INTERVAL_BEGIN_OPT(
        net, "connection", KYMO_OPTIONS(.track = kymo_track("Connections"), .owner = number));
    return client;
}

/* Until a signal asks us to stop, and no client is connected any more. */
static void serve(int listener)
{
    struct kv_client *clients[CLIENTS_MAX];
    struct pollfd polled[CLIENTS_MAX + 2];
    nfds_t count = 0;
    uint64_t accepted = 0;
    int is_stopping = 0;
    while (!is_stopping || count) {
        polled[0] = (struct pollfd){is_stopping ? -1 : stop_pipe[0], POLLIN, 0};
        polled[1] = (struct pollfd){is_stopping || count == CLIENTS_MAX ? -1 : listener, POLLIN, 0};
        for (nfds_t i = 0; i < count; i++)
            polled[i + 2] = (struct pollfd){clients[i]->fd, POLLIN, 0};
        nfds_t seen = count;
        if (poll(polled, seen + 2, -1) < 0 && errno != EINTR)
            die("poll");
        if (polled[0].revents)
            is_stopping = 1;
        if (polled[1].revents & POLLIN) {
            struct kv_client *client = accept_one(listener, ++accepted);
            if (client)
                clients[count++] = client;
        }
        /* From the last one on, since the last one takes the place of one that ends. */
        for (nfds_t i = seen; i-- > 0;) {
            if (!polled[i + 2].revents || read_some(clients[i]) == 0)
                continue;
            kv_client_release(clients[i]);
            clients[i] = clients[--count];
        }
    }
}

/* Markers may be made in handlers. */
static void on_stop(int number)
{
    int saved = errno;
    KYMO_MARKER_VALUES(net, "signal to stop", number);
    (void)!write(stop_pipe[1], "", 1);
    errno = saved;
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path)) {
        fprintf(stderr, "usage: kvserver SOCKET\n");
        return 2;
    }
    strcpy(address.sun_path, argv[1]);
    static struct journal_file file;
    snprintf(file.path, sizeof(file.path), "%s.journal", argv[1]);
    file.fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file.fd < 0)
        die(file.path);
    store = kv_store_create();
    if (!store || pipe(stop_pipe) != 0)
        die("start");
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    kv_queue_init(&work, 0);
    kv_queue_init(&to_journal, 1);
    pthread_t threads[WORKERS + 1];
    for (int i = 0; i <= WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, i < WORKERS ? worker : journal_thread, &file) != 0)
            die("thread");
        pthread_setname_np(threads[i], i < WORKERS ? "worker" : "journal");
    }
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(argv[1]);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, CLIENTS_MAX) != 0)
        die(argv[1]);
    serve(listener);

    kv_queue_close(&work);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    kv_queue_close(&to_journal);
    pthread_join(threads[WORKERS], NULL);
    close(listener);
    unlink(argv[1]);
    close(file.fd);
    kv_store_destroy(store);
    uint64_t sent, answers = kv_answers(&sent);
    printf("{\"requests\":%" PRIu64 ",\"received\":%llu,\"sent\":%" PRIu64 "}\n", answers,
           atomic_load(&received), sent);
    return 0;
}
