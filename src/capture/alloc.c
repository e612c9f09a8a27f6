/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - see alloc.h.
 *
 *   draw: is there a process that is recorded? -> the next draw -> a thread that can record
 *   note: stack -> room for the record -> table -> publish
 *
 * The record's room comes before the table: an allocation that is in the table has a record, and so
 * each free of one that is there is the end of something that was told.
 */
#include "capture/alloc.h"

#include "base/hash.h"
#include "capture/alloc_record.h"
#include "capture/alloc_stack.h"
#include "capture/alloc_table.h"
#include "capture/alloc_words.h"
#include "capture/family.h"
#include "capture/fork_child.h"
#include "capture/mark.h"
#include "capture/python_stack.h"

/* Where nothing is recorded now, but may be later, a thread looks again after so many bytes; so
 * does one whose next draw is farther away, since the rate may have become another. */
#define LOOK_AGAIN_BYTES (16 << 20)
/* Of the table, at each visit of a forked child, and at its first: all of the first level. */
#define INHERIT_SLOTS 1024u
#define INHERIT_SLOTS_AT_ONCE 16384u

__thread struct kymo_alloc_self kymo_alloc_self KYMO_TLS_IE __attribute__((aligned(16)));

/* What the hooks need not know of a thread's draws. A forked child has its parent's. */
static __thread struct {
    uint64_t given;  /* to `until`, so far: what was asked for is what of it is gone */
    uint64_t random; /* 0: not seeded */
    uint64_t before; /* `count` when the thread's record began, and what is no allocation of it */
    uint64_t last;   /* number that an allocation of this thread got */
    int64_t beyond;  /* bytes from `until` to the next draw, where that is farther away */
    uint32_t epoch;  /* of the session that it began in; 0: none yet */
    uint32_t rate;   /* of the draw that runs; 0: none was made */
} own KYMO_TLS_IE;

uint32_t kymo_alloc_allocator;
static uint32_t levels_told; /* of the table, to the session */
/* 1: this process, or one that it was forked from, was recorded, or it is known that it is not. */
static uint32_t is_decided;

static void set_until(int64_t bytes)
{
    own.given += (uint64_t)bytes - (uint64_t)kymo_alloc_self.until;
    kymo_alloc_self.until = bytes;
}

/* So many bytes to the next draw; negative: it is in this allocation, or in the next one of any
 * size. */
static void set_draw(int64_t bytes)
{
    int64_t beyond = bytes > LOOK_AGAIN_BYTES ? bytes - LOOK_AGAIN_BYTES : 0;
    own.beyond = 0;
    set_until(bytes - beyond);
    own.beyond = beyond;
}

static void stop_drawing(int64_t bytes)
{
    own.rate = 0;
    own.beyond = 0;
    set_until(bytes);
}

/* What the thread has asked for, as far as it is known now. */
static void publish_totals(struct kymo_thread_slot *slot)
{
    kymo_store_relaxed(&slot->alloc_count, kymo_alloc_self.count - own.before);
    kymo_store_relaxed(&slot->alloc_bytes, own.given - (uint64_t)kymo_alloc_self.until);
}

/* ---- draws ---- */

static void seed(const struct kymo_capture_process *p)
{
    uint64_t h = kymo_hash_mix(p->cookie, kymo_process_clock(p));
    own.random = kymo_hash_mix(h, (uint64_t)(uintptr_t)&own) | 1;
}

/* Bytes to the next draw; -1: the next allocation, even one of 0 bytes. */
static int64_t next_draw(const struct kymo_capture_process *p, uint32_t rate)
{
    if (rate == 1)
        return -1;
    if (kymo_unlikely(own.random == 0))
        seed(p);
    return (int64_t)kymo_alloc_interval(&own.random, rate);
}

/* The process is not recorded. After its start the thread stops drawing; before it every allocation
 * is drawn (alloc_early.c). */
static struct kymo_alloc_draw pass_unrecorded(void)
{
    struct kymo_alloc_draw draw = {0, 0};
    if (kymo_load_relaxed(&is_decided)) {
        /* A thread that begins, and a child that attaches, sets it anew. */
        stop_drawing(KYMO_ALLOC_NEVER);
    } else {
        stop_drawing(-1);
        draw = (struct kymo_alloc_draw){1, 1};
    }
    return draw;
}

static KYMO_NOINLINE struct kymo_capture_process *find_process(void)
{
    struct kymo_capture_process *p = kymo_capturing();
    if (!p && kymo_fork_is_pending()) {
        kymo_fork_attach_now();
        p = kymo_capturing();
    }
    return p && p->mark_epoch ? p : NULL;
}

/* One that is ready to record; NULL: none (counted). */
static KYMO_NOINLINE struct kymo_capture_thread *find_thread(struct kymo_capture_process *p)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    if (!t)
        kymo_count_loss(p, KYMO_LOSS_ALLOC_NO_THREAD);
    return t;
}

/* The draw that runs, in an allocation that reaches `until`. A rate that has become another holds
 * from the next allocation on: this one is drawn as it was waited for, else the bytes before it
 * would count for nothing. Where it is not drawn, what is left of the draw may be thrown away:
 * draws have no memory.
 */
static struct kymo_alloc_draw run_draw(const struct kymo_capture_process *p, uint32_t rate)
{
    struct kymo_alloc_draw draw = {0, own.rate};
    if (kymo_unlikely(own.beyond))
        set_draw(kymo_alloc_self.until + own.beyond);
    /* A handler that came in between may have had it. */
    draw.is_drawn = kymo_alloc_self.until < 0;
    if (!draw.is_drawn && own.rate != rate) {
        own.rate = rate;
        set_draw(next_draw(p, rate));
    }
    return draw;
}

struct kymo_alloc_draw kymo_alloc_draw(size_t bytes, uint64_t here)
{
    struct kymo_alloc_draw draw = {0, 0};
    struct kymo_capture_process *p = find_process();
    if (kymo_unlikely(!p))
        return pass_unrecorded();
    uint64_t rate = kymo_load_relaxed(&p->session->alloc_rate);
    if (kymo_unlikely(rate == 0)) {
        stop_drawing(LOOK_AGAIN_BYTES);
        return draw;
    }
    if (rate > UINT32_MAX)
        rate = UINT32_MAX;
    if (kymo_likely(own.rate)) {
        draw = run_draw(p, (uint32_t)rate);
    } else {
        draw.rate = own.rate = (uint32_t)rate;
        int64_t first = next_draw(p, draw.rate);
        draw.is_drawn = first < 0 || (uint64_t)first < bytes;
        if (!draw.is_drawn)
            set_draw(first - (int64_t)bytes);
    }
    if (!draw.is_drawn)
        return draw;
    own.rate = (uint32_t)rate;
    set_draw(next_draw(p, own.rate));
    /* In a pause draws go on, so that the first one behind it comes as soon as any. */
    if (kymo_unlikely(kymo_is_paused(p))) {
        draw.is_drawn = 0;
        return draw;
    }
    struct kymo_capture_thread *t = kymo_alloc_thread();
    if (kymo_unlikely(!t) && !(t = find_thread(p)))
        draw.is_drawn = 0;
    else if (kymo_unlikely(kymo_alloc_inherit_waits()))
        kymo_alloc_inherit(t, INHERIT_SLOTS, here);
    return draw;
}

/* ---- allocations ---- */

/* Entered: so no handler gets the same one. What is drawn without a count of its own, as an
 * allocation that is resized, gets one. */
static uint64_t next_id(const struct kymo_capture_thread *t)
{
    if (kymo_alloc_self.count <= own.last) {
        own.before += own.last + 1 - kymo_alloc_self.count;
        kymo_alloc_self.count = own.last + 1;
    }
    own.last = kymo_alloc_self.count;
    return kymo_alloc_id_epoch(t->process) << KYMO_ALLOC_ID_EPOCH_SHIFT |
           (uint64_t)t->number << KYMO_ALLOC_ID_SLOT_SHIFT |
           (own.last & ((1ull << KYMO_ALLOC_ID_SLOT_SHIFT) - 1));
}

static uint32_t slack_of(size_t bytes, size_t usable, uint32_t family)
{
    size_t slack = usable > bytes ? usable - bytes : 0;
    return (uint32_t)(slack < KYMO_ALLOC_SLACK_MAX ? slack : KYMO_ALLOC_SLACK_MAX) << 8 | family;
}

/* Where our own memory is. */
static KYMO_NOINLINE void tell_levels(struct kymo_capture_process *p)
{
    uint32_t levels = kymo_alloc_table_levels();
    uint64_t bytes;
    kymo_store_relaxed(&levels_told, levels);
    /* The first one is in the library's own memory. */
    for (uint32_t i = 1; i < levels; i++) {
        p->session->own[i].lo = kymo_alloc_table_level(i, &bytes);
        p->session->own[i].hi = p->session->own[i].lo + bytes;
    }
}

/* An old entry in the table under the address of a new allocation: the old allocation was freed in
 * a way that our hooks did not see. */
static void evict(uint64_t address, uint64_t here)
{
    uint64_t other = 0;
    if (kymo_unlikely(kymo_load_relaxed(kymo_alloc_filter_of(address))))
        other = kymo_alloc_table_take(address);
    if (kymo_unlikely(other))
        kymo_alloc_end_block(other, here);
}

static int put(struct kymo_capture_process *p, uint64_t address, uint64_t id)
{
    if (kymo_unlikely(!kymo_alloc_table_put(address, id, !kymo_is_quiet(p)))) {
        kymo_count_loss(p, KYMO_LOSS_ALLOC_TABLE);
        return 0;
    }
    if (kymo_unlikely(kymo_load_relaxed(&levels_told) != kymo_alloc_table_levels()))
        tell_levels(p);
    return 1;
}

/* There is no room, perhaps because the recorder no longer reads. */
static KYMO_NOINLINE void look_for_recorder(const struct kymo_capture_process *p)
{
    if (kymo_family_is_silent(p->session))
        stop_drawing(LOOK_AGAIN_BYTES);
}

static void record(struct kymo_capture_thread *t, const struct kymo_record_alloc *block,
                   uint64_t here)
{
    struct kymo_stream_writer *w;
    struct kymo_record_alloc *r;
    uint32_t size_bytes = kymo_python_task_around(&t->alloc_task, sizeof *r);
    evict(block->address, here);
    void *at = kymo_alloc_reserve(t, &w, size_bytes, KYMO_LOSS_ALLOC_NO_BLOCK, here);
    if (kymo_unlikely(!at)) {
        look_for_recorder(t->process);
        return;
    }
    uint64_t clock = kymo_process_clock(t->process);
    r = kymo_python_task_label(&t->alloc_task, at, sizeof *r, clock);
    *r = *block;
    r->address &= ~(uint64_t)KYMO_ALLOC_OF_PYTHON;
    r->head.clock = clock;
    if (kymo_likely(put(t->process, block->address, block->id)))
        kymo_mark_publish(w, size_bytes);
    else
        kymo_claim_end(w);
}

/* Before the start, or before it is known that there is none: each one, so that what finds no room
 * is counted. */
static KYMO_NOINLINE void note_early(uint64_t address, size_t bytes, uint64_t here)
{
    /* Above the frame lies where the call returns to. */
    kymo_alloc_early_note(address, bytes, ((const uint64_t *)(uintptr_t)here)[-1]);
}

static KYMO_NOINLINE void leave_and_answer(struct kymo_capture_thread *t, uint64_t here,
                                           uint32_t stack)
{
    int may = kymo_alloc_words_may(t, here, stack);
    kymo_alloc_leave(t);
    if (may)
        kymo_alloc_words_answer(t->process);
}

/* Of the allocation with that stack; the recorder may have a question for the allocator. */
static inline void leave(struct kymo_capture_thread *t, uint64_t here, uint32_t stack)
{
    if (kymo_unlikely(kymo_alloc_words_wait(t->process->session)))
        leave_and_answer(t, here, stack);
    else
        kymo_alloc_leave(t);
}

void kymo_alloc_note(struct kymo_alloc_draw draw, void *block, size_t bytes, size_t usable,
                     enum kymo_alloc_family family, uint64_t here)
{
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct kymo_capture_thread *t = kymo_alloc_thread();
    if (kymo_unlikely(!t)) {
        if (!kymo_load_relaxed(&is_decided))
            note_early(address, bytes, here);
        return;
    }
    kymo_alloc_table_fetch(address);
    if (!kymo_alloc_enter(t, here))
        return;
    publish_totals(t->slot);
    struct kymo_record_alloc r = {.id = next_id(t),
                                  .address = address,
                                  .bytes = bytes,
                                  .rate = draw.rate,
                                  .slack_family = slack_of(bytes, usable, family)};
    r.head = (struct kymo_record){0, KYMO_RECORD_ALLOC, sizeof r, kymo_alloc_stack(t, here)};
    record(t, &r, here);
    leave(t, here, r.head.stack);
}

/* A child that is forked and not attached may attach by a signal at any place here, and tells what
 * is in the table then. So the entry goes first: what was told before has its end recorded, and
 * what was not needs none. */
static KYMO_NOINLINE void free_unrecorded(uint64_t address, uint64_t id,
                                          struct kymo_alloc_slot *slot, uint64_t here)
{
    kymo_alloc_table_remove(address, slot);
    kymo_alloc_end_block(id, here);
}

void kymo_alloc_note_free(void *block, uint64_t here)
{
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct kymo_alloc_slot *slot;
    uint64_t id = kymo_alloc_table_find(address, &slot);
    if (!id)
        return;
    if (kymo_unlikely(!kymo_alloc_thread())) {
        free_unrecorded(address, id, slot, here);
        return;
    }
    /* The record first: it can be made while the table is on its way from another cache, which what
     * takes the allocation out has to wait for. */
    kymo_alloc_end_block(id, here);
    kymo_alloc_table_remove(address, slot);
}

/* ---- resizes ---- */

uint64_t kymo_alloc_take_out(void *block)
{
    return kymo_alloc_table_take((uint64_t)(uintptr_t)block);
}

static void put_back(uint64_t address, uint64_t id, uint64_t here)
{
    const struct kymo_capture_process *p = kymo_process_here();
    if (kymo_alloc_table_put(address, id, p && !kymo_is_quiet(p)))
        return;
    /* Another allocation has its place in the table: the end of this one would not be seen. */
    kymo_alloc_end_block(id, here);
}

void kymo_alloc_put_back(void *block, uint64_t id)
{
    if (id)
        put_back((uint64_t)(uintptr_t)block, id, KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void resize_unrecorded(uint64_t address, uint64_t id, size_t bytes,
                                            uint64_t here)
{
    if (!kymo_load_relaxed(&is_decided)) {
        if (id)
            kymo_alloc_early_drop(id);
        note_early(address, bytes, here);
    } else if (id) {
        put_back(address, id, here);
    }
}

/* The rate that it could have been drawn by, whether it was or not; 0: none is drawn now. */
static uint32_t rate_of(const struct kymo_capture_process *p, struct kymo_alloc_draw draw)
{
    uint32_t rate = draw.rate ? draw.rate : own.rate;
    return rate ? rate : (uint32_t)kymo_load_relaxed(&p->session->alloc_rate);
}

static void record_resize(struct kymo_capture_thread *t, const struct kymo_record_resize *block,
                          uint64_t here)
{
    struct kymo_stream_writer *w;
    struct kymo_record_resize *r;
    uint32_t size_bytes = kymo_python_task_around(&t->alloc_task, sizeof *r);
    uint64_t was_known = block->was_drawn & 1;
    evict(block->now.address, here);
    void *at = kymo_alloc_reserve(t, &w, size_bytes, KYMO_LOSS_ALLOC_NO_BLOCK, here);
    if (kymo_unlikely(!at)) {
        /* Its size is not right from here on; its end will be. */
        if (was_known)
            put_back(block->now.address, block->now.id, here);
        look_for_recorder(t->process);
        return;
    }
    uint64_t clock = kymo_process_clock(t->process);
    r = kymo_python_task_label(&t->alloc_task, at, sizeof *r, clock);
    *r = *block;
    r->now.head.clock = clock;
    if (kymo_likely(put(t->process, block->now.address, block->now.id))) {
        kymo_mark_publish(w, size_bytes);
    } else {
        kymo_claim_end(w);
        if (was_known)
            kymo_alloc_end_block(block->now.id, here);
    }
}

void kymo_alloc_note_resize(struct kymo_alloc_draw draw, uint64_t id, void *block, size_t bytes,
                            size_t usable, size_t usable_before, uint64_t here)
{
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct kymo_capture_thread *t = kymo_alloc_thread();
    if (kymo_unlikely(!t)) {
        resize_unrecorded(address, id, bytes, here);
        return;
    }
    if (!id && !draw.is_drawn)
        return;
    if (!kymo_alloc_enter(t, here)) {
        if (id)
            put_back(address, id, here);
        return;
    }
    publish_totals(t->slot);
    uint32_t rate = rate_of(t->process, draw);
    struct kymo_record_resize r = {
        .now = {.id = id ? id : next_id(t),
                .address = address,
                .bytes = bytes,
                .rate = rate ? rate : UINT32_MAX,
                .slack_family = slack_of(bytes, usable, KYMO_ALLOC_REALLOC)},
        /* What cannot be drawn does not change the allocation's weight. */
        .usable_before = rate ? usable_before : bytes,
        .was_drawn = (id != 0) | (uint64_t)(draw.is_drawn != 0) << 1,
    };
    r.now.head = (struct kymo_record){0, KYMO_RECORD_RESIZE, sizeof r, kymo_alloc_stack(t, here)};
    record_resize(t, &r, here);
    leave(t, here, r.now.head.stack);
}

/* ---- processes and threads ---- */

static void start(struct kymo_capture_process *p)
{
    kymo_store_relaxed(&is_decided, 1u);
    kymo_store_relaxed(&p->session->allocator, kymo_alloc_allocator);
    p->session->own[0].lo = (uint64_t)(uintptr_t)p;
    p->session->own[0].hi = p->session->own[0].lo + p->mapped_bytes;
    kymo_store_relaxed(&levels_told, 1u);
}

static void loaded(const struct kymo_capture_process *p)
{
    if (p->python)
        kymo_alloc_python_start();
}

static void never_starts(void)
{
    kymo_store_relaxed(&is_decided, 1u);
}

/* What was given before the start, as if it were now. */
static void tell_early(struct kymo_capture_thread *t, uint64_t here)
{
    struct kymo_alloc_early block;
    struct kymo_walk_place place = kymo_alloc_place(t);
    for (uint64_t id = 1; id <= KYMO_ALLOC_EARLY_BLOCKS; id++) {
        struct kymo_stream_writer *w;
        if (!kymo_alloc_early_take(id, &block))
            continue;
        uint32_t stack = kymo_stack_take_caller(t->process, &place, block.caller);
        struct kymo_record_alloc *r =
            kymo_alloc_reserve(t, &w, sizeof *r, KYMO_LOSS_ALLOC_EARLY, here);
        if (r) {
            *r = (struct kymo_record_alloc){
                {kymo_process_clock(t->process), KYMO_RECORD_ALLOC, sizeof *r, stack},
                id,
                block.address,
                block.bytes,
                1,
                KYMO_ALLOC_EARLY};
            kymo_mark_publish(w, sizeof *r);
            if (block.ended)
                kymo_alloc_end_block(id, here);
        } else if (!block.ended) {
            (void)kymo_alloc_table_take(block.address);
        }
        kymo_depot_unpin(place.pin);
    }
    kymo_add_relaxed(&t->process->session->lost[KYMO_LOSS_ALLOC_EARLY], kymo_alloc_early_lost());
}

static void thread_begin(struct kymo_capture_thread *t)
{
    /* What a forked child's parent asked for is not the child's. */
    if (own.epoch) {
        own.before = kymo_alloc_self.count;
        own.given = (uint64_t)kymo_alloc_self.until;
    }
    own.epoch = t->process->mark_epoch;
    own.random = 0;
    /* Numbers that the slot's threads before this one have had. */
    own.before += t->alloc_count;
    kymo_alloc_self.count += t->alloc_count;
    stop_drawing(-1);
    if (t->slot->flags & KYMO_SLOT_MAIN)
        tell_early(t, KYMO_FRAME_BEGIN());
}

static void thread_end(struct kymo_capture_thread *t)
{
    if (kymo_alloc_late_waits())
        kymo_alloc_repay(t, KYMO_FRAME_BEGIN());
    publish_totals(t->slot);
    t->alloc_count = kymo_alloc_self.count;
}

static void forked(struct kymo_capture_process *p)
{
    struct kymo_capture_thread *t = kymo_alloc_thread();
    if (!kymo_load_relaxed(&p->session->alloc_rate))
        return;
    kymo_alloc_inherit_begin();
    if (t)
        kymo_alloc_inherit(t, INHERIT_SLOTS_AT_ONCE, KYMO_FRAME_BEGIN());
}

static const struct kymo_alloc_calls calls = {
    start, loaded, never_starts, thread_begin, thread_end, forked, kymo_alloc_table_level};
const struct kymo_alloc_calls *kymo_alloc_calls = &calls;
