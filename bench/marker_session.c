/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_session.c - a session of marker_bench's own, in its own memory, for marker_count: what
 * counts instructions runs programs in a way in which nothing is preloaded.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "capture/mark.h"
#include "capture/process.h"
#include "capture/thread.h"
#include "kymo/marker_abi.h"
#include "marker_session.h"
#include "sys/clock.h"

static struct kymo_stack_bounds own_stack(void)
{
    struct kymo_stack_bounds bounds = {0, 0};
    pthread_attr_t attributes;
    void *lo;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return bounds;
    if (pthread_attr_getstack(&attributes, &lo, &size) == 0)
        bounds =
            (struct kymo_stack_bounds){(uint64_t)(uintptr_t)lo, (uint64_t)(uintptr_t)lo + size};
    pthread_attr_destroy(&attributes);
    return bounds;
}

int marker_session_open(struct kymo_mark_link *link)
{
    struct kymo_attachment a = {0};
    if (kymo_session_plan(32u << 20, &a.plan) != KYMO_OK)
        return -1;
    a.session = mmap(NULL, a.plan.total_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a.session == MAP_FAILED)
        return -1;
    a.session->clock_kind = KYMO_CLOCK_TSC;
    kymo_session_format(a.session, &a.plan);
    a.session->engine = KYMO_SESSION_DISPATCH;
    a.session->depth = 64;
    a.session->cookie = 1;
    a.session->heartbeat_limit = UINT64_MAX / 4;
    struct kymo_capture_process *p = kymo_process_map(&a);
    if (!p)
        return -1;
    kymo_process_take(p, &a);
    kymo_process_state = p;
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (!t)
        return -1;
    kymo_thread_begin(p, t, own_stack(), 0);
    return kymo_mark_links_attach(link);
}

uint32_t marker_session_used(void)
{
    return kymo_thread_self->streams[KYMO_STREAM_TASK].used;
}
