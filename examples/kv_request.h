/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv_request.h - what the threads of kvserver.c hand each other: requests, the queues that they
 * wait in, and the connections that they came by.
 *
 * Threads:  any; what is in a connection is the main thread's, but for what its lock and users
 * guard Memory:   a request belongs to the thread that has it, or to the queue that it is in
 */
#ifndef KV_REQUEST_H
#define KV_REQUEST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_marks.h"
#include "kv_store.h"

enum {
    KV_INPUT_BYTES = 2 * KV_VALUE_MAX,
    KV_LINE_MAX = 128, /* bytes */
};

enum kv_operation { KV_GET, KV_SET, KV_DEL, KV_SCAN, KV_STOP, KV_OPERATIONS };
extern const struct kymo_mark_literal kv_operation_names[KV_OPERATIONS];

enum kv_outcome { KV_OK, KV_NEW, KV_NONE, KV_FAILED, KV_OUTCOMES };
extern const struct kymo_mark_literal kv_outcome_names[KV_OUTCOMES];

/* A client. The main thread reads from it; a thread with an answer takes the lock and sends it. */
struct kv_client {
    int fd;
    uint64_t number;
    atomic_uint users; /* the main thread, and each request that is on its way */
    pthread_mutex_t sending;
    size_t filled;
    uint64_t requests;
    uint64_t received;
    uint64_t interval; /* the marker of its life */
    char input[KV_INPUT_BYTES];
};

struct kv_request {
    struct kv_request *next;
    struct kv_client *from;
    uint64_t id;
    enum kv_operation operation;
    enum kv_outcome outcome;
    char key[KV_KEY_MAX + 1];
    uint64_t flow;
    uint64_t interval; /* the marker of it all: begun when it is read, ended when it is answered */
    uint64_t queued;   /* kymo_now() when it came into the queue that it is in */
    uint32_t len;
    char value[];
};

struct kv_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct kv_request *first, **last;
    uint32_t length;
    int is_journal;
    int is_closed;
};

/* ---- queues ---- */

void kv_queue_init(struct kv_queue *queue, int is_journal);
void kv_queue_push(struct kv_queue *queue, struct kv_request *request);
/* The first one, or with is_all the whole chain; NULL: closed and empty. */
struct kv_request *kv_queue_pop(struct kv_queue *queue, int is_all);
/* Threads that wait, or come, take what is left. */
void kv_queue_close(struct kv_queue *queue);

/* ---- answers ---- */

/* Frees it with its last user. */
void kv_client_release(struct kv_client *client);
/* Sends the answer to a request, and ends its marker. */
void kv_request_answer(struct kv_request *request);
/* Of all of them: how many there were, and their bytes. */
uint64_t kv_answers(uint64_t *sent_bytes);

#endif
