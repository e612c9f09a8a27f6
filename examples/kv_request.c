/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv_request.c - queues of requests, and their answers. The gauges of the queues and the end of
 * each request's marker are here.
 */
#include "kv_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

KYMO_COUNTER(bytes_sent, net, "Bytes sent", TOTAL, "bytes", BLUE);
KYMO_COUNTER_EACH_CHANGE(work_length, waiting, "Queue of work", GAUGE, NULL, ORANGE);
KYMO_COUNTER(journal_length, waiting, "Queue of the journal", GAUGE, NULL, YELLOW);

const struct kymo_mark_literal kv_operation_names[KV_OPERATIONS] = {
    KYMO_LITERAL_INIT("get"), KYMO_LITERAL_INIT("set"), KYMO_LITERAL_INIT("del"),
    KYMO_LITERAL_INIT("scan"), KYMO_LITERAL_INIT("stop")};
const struct kymo_mark_literal kv_outcome_names[KV_OUTCOMES] = {
    KYMO_LITERAL_INIT("ok"), KYMO_LITERAL_INIT("new"), KYMO_LITERAL_INIT("none"),
    KYMO_LITERAL_INIT("failed")};

static atomic_ullong sent, answered;

/* ---- queues ---- */

void kv_queue_init(struct kv_queue *queue, int is_journal)
{
    *queue = (struct kv_queue){.is_journal = is_journal};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->last = &queue->first;
}

/* With the lock, so that what is said last is true. */
static void queue_gauge(const struct kv_queue *queue)
{
    if (queue->is_journal)
        KYMO_COUNT(journal_length, queue->length);
    else
        KYMO_COUNT(work_length, queue->length);
}

void kv_queue_push(struct kv_queue *queue, struct kv_request *request)
{
    request->next = NULL;
    if (KYMO_IS_ON(waiting))
        request->queued = kymo_now();
    pthread_mutex_lock(&queue->lock);
    *queue->last = request;
    queue->last = &request->next;
    queue->length++;
    queue_gauge(queue);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

struct kv_request *kv_queue_pop(struct kv_queue *queue, int is_all)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->first && !queue->is_closed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct kv_request *request = queue->first;
    if (request) {
        queue->first = is_all ? NULL : request->next;
        if (!queue->first)
            queue->last = &queue->first;
        queue->length = is_all ? 0 : queue->length - 1;
        queue_gauge(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    return request;
}

void kv_queue_close(struct kv_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = 1;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- answers ---- */

void kv_client_release(struct kv_client *client)
{
    if (atomic_fetch_sub(&client->users, 1) != 1)
        return;
    KYMO_INTERVAL_END_T(net, "connection", client->interval, kv_connection,
                        .number = client->number, .requests = client->requests,
                        .received = client->received);
    close(client->fd);
    pthread_mutex_destroy(&client->sending);
    free(client);
}

/* All of it, unless the client is gone or reads no more. */
static void send_all(struct kv_client *client, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(client->fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            KYMO_MARKER_FMT(net, "send failed", "connection %" PRIu64 ": error %d", client->number,
                            errno);
            return;
        }
        bytes += n;
        len -= (size_t)n;
        atomic_fetch_add(&sent, (unsigned long long)n);
        KYMO_COUNT(bytes_sent, n);
    }
}

void kv_request_answer(struct kv_request *request)
{
    char head[KV_LINE_MAX];
    uint32_t len = request->operation == KV_GET && request->outcome == KV_OK ? request->len : 0;
    int n = snprintf(head, sizeof(head), "%" PRIu64 " %s %" PRIu32 "\n", request->id,
                     kv_outcome_names[request->outcome].text, len);
    pthread_mutex_lock(&request->from->sending);
    send_all(request->from, head, (size_t)n);
    send_all(request->from, request->value, len);
    pthread_mutex_unlock(&request->from->sending);
    atomic_fetch_add(&answered, 1);
    KYMO_INTERVAL_END_T(request, "request", request->interval, kv_request_marker, .id = request->id,
                        .operation = kv_operation_names[request->operation], .key = request->key,
                        .outcome = kv_outcome_names[request->outcome], .bytes = request->len,
                        .flow = request->flow);
}

uint64_t kv_answers(uint64_t *sent_bytes)
{
    *sent_bytes = atomic_load(&sent);
    return atomic_load(&answered);
}
