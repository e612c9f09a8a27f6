/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - what a marker costs each time it is made: see mark.h.
 *
 * Every function here does the whole work under conditions that nearly always hold, and hands over
 * to mark_quick.c where there are texts, and to mark_slow.c where one does not. The conditions are
 * few loads of two cache lines of the thread and one of the site; the clock is the time-stamp
 * counter, whatever else needs a call. Payload words are copied as they are: nothing is formatted,
 * nothing packed.
 *
 * Whether the recorder is there, and what it listens to, is not asked: that is looked at when a
 * block is full.
 */
#include "base/atomic.h"
#include "capture/mark_quick.h"

#define HEAD_BYTES ((uint32_t)sizeof(struct kymo_record))

KYMO_INLINE void copy(uint64_t *to, const void *payload, uint32_t words)
{
    const uint64_t *from = payload;
    for (size_t i = 0; i < words; i++)
        to[i] = from[i];
}

/* A number that is known, and yet here: there are texts, or there is no room. */
static KYMO_NOINLINE void mark_otherwise(struct kymo_mark_site *site, const void *payload,
                                         uint32_t number, uint64_t frame)
{
    if (number == 0 || !site->slow || !kymo_mark_texts(site, payload, number, frame))
        kymo_mark_slowly(site, payload, frame);
}

void kymo_mark(struct kymo_mark_site *site, const void *payload)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    struct kymo_stream_writer *w;
    uint32_t number = kymo_mark_ready(t, site);
    uint32_t words = payload ? site->words : 0;
    uint32_t size_bytes = HEAD_BYTES + words * 8;
    if (kymo_unlikely(number == 0) || site->slow ||
        kymo_unlikely(!(w = kymo_mark_claim_room(t, size_bytes, KYMO_FRAME_BEGIN())))) {
        mark_otherwise(site, payload, number, KYMO_FRAME_BEGIN());
        return;
    }
    uint64_t *to = (uint64_t *)(void *)((char *)w->block + w->used);
    to[0] = kymo_clock_tsc();
    to[1] = kymo_mark_head(number, KYMO_PHASE_INSTANT) | (uint64_t)size_bytes << 16;
    copy(to + 2, payload, words);
    kymo_mark_done(t, w, size_bytes);
}

/* ---- scopes ---- */

/* Whether a longjmp has left the innermost scope, since another one opens from here: that was
 * deeper on the thread's own stack, or is the same one again. */
static KYMO_NOINLINE int is_left(const struct kymo_capture_thread *t,
                                 const struct kymo_open_scope *open, uint32_t number, uint64_t here)
{
    uint32_t there = open->frame, mine = (uint32_t)(here - t->stack.lo);
    return kymo_stack_is_own(t, here) && there < t->stack.hi - t->stack.lo &&
           (there < mine || open->site == number);
}

KYMO_INLINE void open_scope(struct kymo_capture_thread *t, uint32_t number,
                            struct kymo_mark_site *site, struct kymo_mark_scope *scope,
                            uint64_t clock, uint64_t here)
{
    uint32_t depth = t->open_scopes;
    uint32_t frame = (uint32_t)(here - t->stack.lo);
    while (kymo_unlikely(depth > 0 && depth <= KYMO_OPEN_SCOPES &&
                         t->scopes[depth - 1].frame <= frame &&
                         is_left(t, &t->scopes[depth - 1], number, here)))
        kymo_store_relaxed(&t->scopes[--depth].site, 0u);
    scope->site = site;
    scope->epoch = t->mark_epoch;
    scope->depth = depth;
    scope->start = clock;
    /* A handler that comes from here on opens its own above. */
    kymo_store_relaxed(&t->open_scopes, depth + 1);
    kymo_signal_fence();
    if (kymo_likely(depth < KYMO_OPEN_SCOPES)) {
        struct kymo_open_scope *open = &t->scopes[depth];
        open->start = clock;
        open->frame = frame;
        /* Pairs with the drain's acquire: start is there. */
        kymo_store_release(&open->site, number);
    }
}

/* The inner ones that a longjmp has left end with it. */
KYMO_INLINE void close_scopes(struct kymo_capture_thread *t, uint32_t depth)
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

static KYMO_NOINLINE void begin_slowly(struct kymo_mark_scope *scope, struct kymo_mark_site *site,
                                       uint64_t frame)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    if (!t) {
        /* The one that this structure was of before is over. */
        scope->site = NULL;
        return;
    }
    uint32_t number = kymo_mark_site_define(t->process, site);
    open_scope(t, number, site, scope, kymo_process_clock(t->process), frame);
}

void kymo_mark_scope_begin(struct kymo_mark_scope *scope, struct kymo_mark_site *site)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    uint32_t number = kymo_mark_ready(t, site);
    if (kymo_unlikely(number == 0))
        begin_slowly(scope, site, KYMO_FRAME_BEGIN());
    else
        open_scope(t, number, site, scope, kymo_clock_tsc(), KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void end_slowly(struct kymo_capture_thread *t, struct kymo_mark_scope *scope,
                                     uint64_t frame)
{
    if (t == &kymo_thread_dead) {
        /* Counted as lost, where the thread was of this session. */
        const struct kymo_capture_process *p = kymo_capturing();
        if (p && p->mark_epoch << 16 == scope->epoch && !(scope->flags & KYMO_SCOPE_IS_CANCELLED))
            kymo_mark_scope_end_slowly(scope, scope->start, frame);
        return;
    }
    /* A forked child ends the scopes that its parent began: those are its parent's. */
    if (!t || t->mark_epoch != scope->epoch || t->mark_epoch == 0)
        return;
    uint64_t end = kymo_process_clock(t->process);
    close_scopes(t, scope->depth);
    if (end - scope->start >= scope->site->min_ticks && !(scope->flags & KYMO_SCOPE_IS_CANCELLED))
        kymo_mark_scope_end_slowly(scope, end, frame);
}

static KYMO_NOINLINE void end_otherwise(struct kymo_mark_scope *scope, uint32_t number,
                                        uint64_t end, uint64_t frame)
{
    if (scope->options || !scope->site->slow || !kymo_mark_scope_texts(scope, number, end, frame))
        kymo_mark_scope_end_slowly(scope, end, frame);
}

void kymo_mark_scope_end(struct kymo_mark_scope *scope)
{
    struct kymo_mark_site *site = scope->site;
    struct kymo_capture_thread *t = kymo_thread_self;
    struct kymo_stream_writer *w;
    uint32_t number = kymo_mark_ready(t, site);
    if (kymo_unlikely(number == 0) || kymo_unlikely(t->mark_epoch != scope->epoch)) {
        end_slowly(t, scope, KYMO_FRAME_BEGIN());
        return;
    }
    uint64_t end = kymo_clock_tsc();
    close_scopes(t, scope->depth);
    if (end - scope->start < site->min_ticks || scope->flags & KYMO_SCOPE_IS_CANCELLED)
        return;
    uint32_t words = scope->payload ? site->words : 0;
    uint32_t size_bytes = HEAD_BYTES + 8 + words * 8;
    if (kymo_unlikely(scope->options != NULL) || site->slow ||
        kymo_unlikely(!(w = kymo_mark_claim_room(t, size_bytes, KYMO_FRAME_BEGIN())))) {
        end_otherwise(scope, number, end, KYMO_FRAME_BEGIN());
        return;
    }
    uint64_t *to = (uint64_t *)(void *)((char *)w->block + w->used);
    to[0] = end;
    to[1] = kymo_mark_head(number, KYMO_PHASE_INTERVAL | KYMO_MARK_START) | (uint64_t)size_bytes
                                                                                << 16;
    to[2] = scope->start;
    copy(to + 3, scope->payload, words);
    kymo_mark_done(t, w, size_bytes);
}
