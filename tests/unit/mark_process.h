/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_process.h - this test as a process whose markers are recorded, and a reader of what its
 * threads have written. What mark*.c call of others, and what would make signals, is here.
 */
#ifndef KYMO_TESTS_MARK_PROCESS_H
#define KYMO_TESTS_MARK_PROCESS_H

#include <pthread.h>
#include <string.h>

#include "buffer/definition.h"
#include "buffer/record.h"
#include "capture/fork_child.h"
#include "capture/mark.h"
#include "capture/process.h"
#include "capture/thread.h"
#include "capture/timer.h"
#include "session_fixture.h"
#include "unit.h"

static struct fixture fixture;
static struct {
    int off;               /* how often everything was switched off */
    int looked;            /* how often it was asked whether it should be */
    void (*on_look)(void); /* called once when it is asked */
    uint64_t attaches;     /* bytes of the session that a forked child gets; 0: none */
} seen;

static void open_process(uint64_t bytes);

int kymo_timer_arm(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    (void)p;
    (void)t;
    return 1;
}

void kymo_timer_disarm(struct kymo_capture_thread *t)
{
    (void)t;
}

void kymo_mark_links_off(void)
{
    kymo_add_relaxed(&seen.off, 1);
}

void kymo_mark_links_look(void)
{
    void (*call)(void) = kymo_load_relaxed(&seen.on_look);
    kymo_add_relaxed(&seen.looked, 1);
    if (call)
        kymo_store_relaxed(&seen.on_look, NULL);
    if (call)
        call();
}

void kymo_fork_attach_now(void)
{
    if (seen.attaches && !kymo_process_here())
        open_process(seen.attaches);
}

/* The bounds of the calling thread's stack. */
static inline struct kymo_stack_bounds own_stack(void)
{
    struct kymo_stack_bounds bounds = {0, 0};
    pthread_attr_t attributes;
    void *lo;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &lo, &size) == 0)
            bounds =
                (struct kymo_stack_bounds){(uint64_t)(uintptr_t)lo, (uint64_t)(uintptr_t)lo + size};
        (void)pthread_attr_destroy(&attributes);
    }
    return bounds;
}

static inline void begin_thread(void)
{
    struct kymo_capture_process *p = kymo_process_state;
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (!t)
        __builtin_trap();
    kymo_thread_begin(p, t, own_stack(), 0);
}

/* A session of so many bytes, and the calling thread in it. */
static void open_process(uint64_t bytes)
{
    fixture = fixture_open(bytes);
    fixture.session->clock_kind = KYMO_CLOCK_TSC;
    fixture.session->engine = KYMO_SESSION_TIMER;
    fixture.session->depth = 64;
    fixture.session->cookie = 77;
    fixture.session->heartbeat_limit = UINT64_MAX / 4;
    struct kymo_attachment a = {.session = fixture.session, .plan = fixture.plan};
    struct kymo_capture_process *p = kymo_process_map(&a);
    if (!p)
        __builtin_trap();
    kymo_process_take(p, &a);
    kymo_process_state = p;
    kymo_thread_self = NULL;
    begin_thread();
}

static inline int open_small_process(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    open_process(1u << 20);
    return 0;
}

static inline int close_process(void **state)
{
    (void)state;
    kymo_process_state = NULL;
    kymo_thread_self = NULL;
    fixture_close(&fixture);
    return 0;
}

/* ---- what was written ---- */

struct mark {
    const struct kymo_record *head;
    uint32_t number, flags;
    const uint64_t *words;     /* those that flags name */
    const unsigned char *rest; /* what follows them */
    uint32_t rest_bytes;
};

static inline struct mark mark_of(const struct kymo_record *r)
{
    struct mark m = {.head = r, .number = r->stack & 0xffff, .flags = r->stack >> 16};
    m.words = (const uint64_t *)(const void *)(r + 1);
    uint32_t count = (uint32_t)__builtin_popcount(m.flags & ~(uint32_t)KYMO_MARK_PHASE);
    m.rest = (const unsigned char *)(m.words + count);
    m.rest_bytes = r->size_bytes - (uint32_t)sizeof *r - count * 8;
    return m;
}

/* The word of a flag that the marker has. */
static inline uint64_t word_of(const struct mark *m, uint32_t flag)
{
    assert_true(m->flags & flag);
    uint32_t before = m->flags & (flag - 1) & ~(uint32_t)KYMO_MARK_PHASE;
    return m->words[__builtin_popcount(before)];
}

typedef void on_record(const struct kymo_record *record, void *context);

/* Calls back for each record of a stream; a reader that is as careful as it must be. */
static inline void read_stream(uint32_t slot, uint32_t stream, on_record *call, void *context)
{
    uint32_t number =
        kymo_session_slot(fixture.session, &fixture.plan, slot)->streams[stream].first;
    while (number) {
        const struct kymo_block *block =
            kymo_session_block(fixture.session, &fixture.plan, number - 1);
        uint64_t head = kymo_load_acquire(&block->head);
        assert_true(head <= kymo_session_block_bytes(&fixture.plan, number - 1));
        for (uint64_t at = sizeof *block; at < head;) {
            const struct kymo_record *r = (const void *)((const char *)block + at);
            assert_true(r->size_bytes >= sizeof *r && r->size_bytes % 8 == 0);
            assert_true(r->size_bytes <= head - at);
            call(r, context);
            at += r->size_bytes;
        }
        number = kymo_load_acquire(&block->next);
    }
}

static inline void read_all(on_record *call, void *context)
{
    for (uint32_t slot = 0; slot < fixture.session->slots_touched; slot++)
        for (uint32_t stream = 0; stream < KYMO_STREAMS; stream++)
            read_stream(slot, stream, call, context);
}

struct nth {
    uint32_t left;
    const struct kymo_record *found;
};

static inline void take_nth(const struct kymo_record *r, void *context)
{
    struct nth *n = context;
    if (n->left-- == 0)
        n->found = r;
}

/* The calling thread's i-th record. */
static inline const struct kymo_record *record_at(uint32_t i)
{
    struct nth n = {i, NULL};
    read_stream(kymo_thread_self->number, KYMO_STREAM_TASK, take_nth, &n);
    assert_non_null(n.found);
    return n.found;
}

static inline struct mark mark_at(uint32_t i)
{
    const struct kymo_record *r = record_at(i);
    assert_int_equal(r->kind, KYMO_RECORD_MARKER);
    return mark_of(r);
}

static inline void count_one(const struct kymo_record *r, void *context)
{
    (void)r;
    ++*(uint64_t *)context;
}

static inline uint64_t count_records(void)
{
    uint64_t count = 0;
    read_all(count_one, &count);
    return count;
}

static inline struct kymo_site_counts *counts_of(const struct kymo_mark_site *site)
{
    return kymo_session_site_counts(fixture.session, &fixture.plan, site->id & 0xffff);
}

/* ---- sites ---- */

static struct kymo_mark_category test_category __attribute__((unused)) = {
    .size = sizeof test_category, .name = "Test", .color = KYMO_COLOR_BLUE};

#define SITE(name_, ...)                                                                    \
    {                                                                                       \
        .size = sizeof(struct kymo_mark_site), .category = &test_category, .name = (name_), \
        .file = __FILE__, .function = "test", .line = 1, __VA_ARGS__                        \
    }

/* A word of a definition by its place behind the head, texts counted as they lie. */
static inline const uint64_t *definition_words(uint32_t number, enum kymo_definition_kind kind)
{
    const struct kymo_definition *d = kymo_definition_at(fixture.session, &fixture.plan, number);
    assert_non_null(d);
    assert_int_equal(d->kind, kind);
    return (const uint64_t *)(const void *)(d + 1);
}

#endif
