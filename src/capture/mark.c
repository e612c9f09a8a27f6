/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - what a marker costs each time it is made: see mark.h.
 *
 * Every function here does the whole work under conditions that nearly always hold, and hands over
 * to mark_slow.c where one does not. The conditions are few loads of two cache lines of the thread
 * and one of the site. Payload words are copied as they are: nothing is formatted, nothing packed.
 *
 * Whether the recorder is there, and what it listens to, is not asked: that is looked at when a
 * block is full.
 */
#include "capture/mark.h"

#include "base/atomic.h"
#include "buffer/record.h"

#define HEAD_BYTES ((uint32_t)sizeof(struct kymo_record))

/* The stream to write size_bytes to, claimed; NULL: the slow way. */
KYMO_INLINE struct kymo_stream_writer *claim_room(struct kymo_thread *t, uint32_t size_bytes)
{
    struct kymo_stream_writer *w = &t->streams[KYMO_STREAM_TASK];
    if (kymo_unlikely(w->claim))
        return NULL;
    kymo_store_relaxed(&w->claim, kymo_stack_pointer());
    kymo_signal_fence();
    if (kymo_likely(size_bytes <= w->room - w->used))
        return w;
    kymo_claim_end(w);
    return NULL;
}

KYMO_INLINE void publish(struct kymo_thread *t, struct kymo_stream_writer *w, uint32_t size_bytes)
{
    t->marks++;
    kymo_mark_publish(w, size_bytes);
}

KYMO_INLINE uint64_t head_of(uint32_t number, uint32_t flags, uint32_t size_bytes)
{
    return KYMO_RECORD_MARKER | (uint64_t)size_bytes << 16 | (uint64_t)number << 32 |
           (uint64_t)flags << 48;
}

void kymo_mark(struct kymo_mark_site *site, const void *payload)
{
    struct kymo_thread *t = kymo_thread_self;
    uint32_t number = t ? kymo_mark_site_number(site, t->mark_epoch) : 0;
    if (kymo_unlikely(number == 0 || site->slow)) {
        kymo_mark_slowly(site, payload);
        return;
    }
    uint32_t words = payload ? site->words : 0;
    uint32_t size_bytes = HEAD_BYTES + words * 8;
    struct kymo_stream_writer *w = claim_room(t, size_bytes);
    if (kymo_unlikely(!w)) {
        kymo_mark_slowly(site, payload);
        return;
    }
    uint64_t *to = (uint64_t *)(void *)((char *)w->block + w->used);
    const uint64_t *from = payload;
    to[0] = kymo_process_clock(t->process);
    to[1] = head_of(number, KYMO_PHASE_INSTANT, size_bytes);
    for (uint32_t i = 0; i < words; i++)
        to[2 + i] = from[i];
    publish(t, w, size_bytes);
}

/* ---- scopes ---- */

/* Whether a longjmp has left the innermost scope, since another one opens from here: that was
 * deeper on the thread's own stack, or is the same one again. */
static KYMO_NOINLINE int is_left(const struct kymo_thread *t, const struct kymo_open_scope *open,
                                 uint32_t number, uint64_t here)
{
    uint64_t size = t->stack.hi - t->stack.lo;
    uint32_t there = open->frame;
    return here - t->stack.lo < size && there - (uint32_t)t->stack.lo < size &&
           (there < (uint32_t)here || open->site == number);
}

KYMO_INLINE void open_scope(struct kymo_thread *t, uint32_t number, struct kymo_mark_scope *scope)
{
    uint64_t here = kymo_stack_pointer();
    uint32_t depth = t->open_scopes;
    while (kymo_unlikely(depth > 0 && depth <= KYMO_OPEN_SCOPES &&
                         t->scopes[depth - 1].frame <= (uint32_t)here &&
                         is_left(t, &t->scopes[depth - 1], number, here)))
        kymo_store_relaxed(&t->scopes[--depth].site, 0u);
    scope->depth = depth;
    /* A handler that comes from here on opens its own above. */
    kymo_store_relaxed(&t->open_scopes, depth + 1);
    kymo_signal_fence();
    scope->start = kymo_process_clock(t->process);
    if (kymo_likely(depth < KYMO_OPEN_SCOPES)) {
        struct kymo_open_scope *open = &t->scopes[depth];
        open->start = scope->start;
        open->frame = (uint32_t)here;
        /* Pairs with the drain's acquire: start is there. */
        kymo_store_release(&open->site, number);
    }
}

/* The inner ones that a longjmp has left end with it. */
KYMO_INLINE void close_scopes(struct kymo_thread *t, uint32_t depth)
{
    uint32_t open = t->open_scopes;
    if (kymo_unlikely(open <= depth))
        return; /* it began on another thread, by a coroutine */
    kymo_store_relaxed(&t->open_scopes, depth);
    if (open > KYMO_OPEN_SCOPES)
        open = KYMO_OPEN_SCOPES;
    while (open > depth)
        kymo_store_relaxed(&t->scopes[--open].site, 0u);
}

void kymo_mark_scope_begin(struct kymo_mark_scope *scope, struct kymo_mark_site *site)
{
    struct kymo_thread *t = kymo_thread_self;
    uint32_t number = t ? kymo_mark_site_number(site, t->mark_epoch) : 0;
    if (kymo_unlikely(number == 0)) {
        t = kymo_mark_thread();
        if (!t)
            return;
        number = kymo_mark_site_define(t->process, site);
    }
    scope->site = site;
    scope->epoch = t->mark_epoch;
    open_scope(t, number, scope);
}

void kymo_mark_scope_end(struct kymo_mark_scope *scope)
{
    struct kymo_mark_site *site = scope->site;
    struct kymo_thread *t = kymo_thread_self;
    /* A forked child ends the scopes that its parent began: those are its parent's. */
    if (kymo_unlikely(!t || t->mark_epoch != scope->epoch || t->mark_epoch == 0))
        return;
    uint32_t number = kymo_mark_site_number(site, t->mark_epoch);
    uint64_t end = kymo_process_clock(t->process);
    close_scopes(t, scope->depth);
    if (end - scope->start < site->min_ticks || scope->flags & KYMO_SCOPE_IS_CANCELLED)
        return;
    uint32_t words = scope->payload ? site->words : 0;
    uint32_t size_bytes = HEAD_BYTES + 8 + words * 8;
    struct kymo_stream_writer *w;
    if (kymo_unlikely(number == 0 || site->slow || scope->options) ||
        kymo_unlikely(!(w = claim_room(t, size_bytes)))) {
        kymo_mark_scope_end_slowly(scope, end);
        return;
    }
    uint64_t *to = (uint64_t *)(void *)((char *)w->block + w->used);
    const uint64_t *from = scope->payload;
    to[0] = end;
    to[1] = head_of(number, KYMO_PHASE_INTERVAL | KYMO_MARK_START, size_bytes);
    to[2] = scope->start;
    for (uint32_t i = 0; i < words; i++)
        to[3 + i] = from[i];
    publish(t, w, size_bytes);
}
