/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_record.c - see alloc_record.h.
 *
 * That an allocation was given back must not get lost as easily as that it was given: without it
 * the allocation has leaked. So it waits where there is no room for it, in any thread's place.
 *
 * A forked child has its parent's allocations, and the recorder cannot know which: what was drawn
 * just before the fork may not have been written. So the child says what it has in its table.
 */
#include "capture/alloc_record.h"

#include "base/atomic.h"
#include "buffer/record.h"
#include "capture/alloc.h"
#include "capture/alloc_table.h"
#include "capture/mark.h"

/* ---- room ---- */

static void *claim(struct kymo_capture_thread *t, struct kymo_stream_writer **writer,
                   uint32_t size_bytes, uint64_t here)
{
    struct kymo_stream_writer *w = kymo_claim(t, KYMO_STREAM_TASK, here);
    *writer = w;
    if (kymo_unlikely(!w))
        return NULL;
    /* As a sum: whatever has happened to a stream, nothing is written behind its block. */
    if (kymo_likely(w->used + size_bytes <= w->room))
        return (char *)w->block + w->used;
    void *at = kymo_mark_room(t, w, size_bytes);
    if (!at)
        kymo_claim_end(w);
    return at;
}

static int write_free(struct kymo_capture_thread *t, uint64_t id, uint64_t here)
{
    struct kymo_stream_writer *w;
    struct kymo_record_free *r = claim(t, &w, sizeof *r, here);
    if (!r)
        return 0;
    r->head = (struct kymo_record){kymo_process_clock(t->process), KYMO_RECORD_FREE, sizeof *r,
                                   (uint32_t)kymo_alloc_self.count};
    r->id = id;
    kymo_mark_publish(w, sizeof *r);
    return 1;
}

static void put_off(struct kymo_capture_process *p, uint64_t id)
{
    if (kymo_alloc_late_put(id))
        kymo_add_relaxed(&p->session->frees_late, 1u);
    else
        kymo_count_loss(p, KYMO_LOSS_FREE);
}

KYMO_NOINLINE void kymo_alloc_repay(struct kymo_capture_thread *t, uint64_t here)
{
    uint64_t id;
    for (uint32_t i = 0; i < KYMO_ALLOC_LATE && (id = kymo_alloc_late_take()) != 0; i++) {
        kymo_sub_relaxed(&t->process->session->frees_late, 1u);
        if (!write_free(t, id, here)) {
            put_off(t->process, id);
            return;
        }
    }
}

void *kymo_alloc_reserve(struct kymo_capture_thread *t, struct kymo_stream_writer **writer,
                         uint32_t size_bytes, enum kymo_loss_kind loss, uint64_t here)
{
    if (kymo_unlikely(kymo_alloc_late_waits()))
        kymo_alloc_repay(t, here);
    void *at = claim(t, writer, size_bytes, here);
    if (kymo_unlikely(!at))
        kymo_count_loss(t->process, loss);
    return at;
}

/* ---- ends ---- */

void kymo_alloc_end_block(uint64_t id, uint64_t here)
{
    struct kymo_capture_thread *t = kymo_alloc_thread();
    if (kymo_unlikely(!t)) {
        struct kymo_capture_process *p = kymo_capturing();
        /* A forked child that has no session yet is not recorded as having the allocation. */
        if (p)
            put_off(p, id);
        else
            kymo_alloc_early_end(id);
        return;
    }
    if (kymo_unlikely(kymo_alloc_late_waits()))
        kymo_alloc_repay(t, here);
    if (kymo_unlikely(!write_free(t, id, here)))
        put_off(t->process, id);
}

/* ---- forks ---- */

static struct {
    uint32_t waits; /* some of the table was not told yet */
    uint32_t lock;  /* 1: a thread tells; no other one waits for it */
    struct kymo_alloc_cursor at;
} inherited;

void kymo_alloc_inherit_begin(void)
{
    inherited.at = (struct kymo_alloc_cursor){0, 0};
    kymo_store_relaxed(&inherited.lock, 0u);
    kymo_store_relaxed(&inherited.waits, 1u);
    kymo_alloc_late_forget();
}

int kymo_alloc_inherit_waits(void)
{
    return kymo_load_relaxed(&inherited.waits) != 0;
}

/* Returns 0 if there is no room now. */
static int tell(struct kymo_capture_thread *t, uint64_t address, uint64_t id, uint64_t here)
{
    struct kymo_stream_writer *w;
    struct kymo_record_inherit *r = claim(t, &w, sizeof *r, here);
    if (!r)
        return 0;
    r->head =
        (struct kymo_record){kymo_process_clock(t->process), KYMO_RECORD_INHERIT, sizeof *r, 0};
    r->id = id;
    r->address = address & ~(uint64_t)KYMO_ALLOC_OF_PYTHON;
    kymo_mark_publish(w, sizeof *r);
    return 1;
}

static void tell_some(struct kymo_capture_thread *t, uint32_t slots, uint64_t here)
{
    uint64_t epoch = kymo_alloc_id_epoch(t->process);
    uint64_t address, id;
    while (slots > 0) {
        struct kymo_alloc_cursor before = inherited.at;
        int found = kymo_alloc_table_next(&inherited.at, &slots, &address, &id);
        if (found < 0) {
            kymo_store_relaxed(&inherited.waits, 0u);
            return;
        }
        /* Those of its own it has told of when they were drawn. */
        if (found && id >> KYMO_ALLOC_ID_EPOCH_SHIFT != epoch && !tell(t, address, id, here)) {
            inherited.at = before;
            return;
        }
    }
}

void kymo_alloc_inherit(struct kymo_capture_thread *t, uint32_t slots, uint64_t here)
{
    int is_masked = !kymo_is_quiet(t->process);
    uint64_t mask;
    /* A handler that leaves by siglongjmp would leave it locked. */
    if (is_masked)
        kymo_raw_block_all(&mask);
    if (kymo_exchange_acq_rel(&inherited.lock, 1u) == 0) {
        tell_some(t, slots, here);
        kymo_store_release(&inherited.lock, 0u);
    }
    if (is_masked)
        kymo_raw_set_mask(&mask, NULL);
}
