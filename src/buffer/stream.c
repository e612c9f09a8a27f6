/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/stream.h"

#include <string.h>

#include "arch/cpu.h"
#include "base/atomic.h"

/* ---- the last-in first-out list of free slots and blocks, shared by two processes ----
 *
 * A head is {tag, number + 1}: the tag changes with every operation, so that a pop which slept
 * through a pop and a push of the same number does not succeed (ABA). A link of 0 means "the
 * number behind mine": a list of untouched zero pages is a full list. Numbers are bounded on each
 * read, since the program may have scribbled over them.
 */

#define FREE_LIST_END 0xffffffffu

/* Where number's link lies. */
typedef uint32_t *(*free_link)(void *context, uint32_t number);

/* Takes a number in [first, first + count); returns number + 1, or 0 when none is free. */
static uint32_t free_pop(uint64_t *head, uint32_t first, uint32_t count, free_link link,
                         void *context)
{
    uint64_t old = kymo_load_acquire(head);
    for (;;) {
        uint32_t number = (uint32_t)old - 1; /* an empty or broken head is out of bounds */
        if (number < first || number - first >= count)
            return 0;
        uint32_t next = kymo_load_relaxed(link(context, number));
        if (next == 0)
            next = number + 1 - first < count ? number + 2 : FREE_LIST_END;
        uint64_t new_head = ((old >> 32) + 1) << 32 | next;
        /* Pairs with the release of a push: what the other side wrote to the block is seen. */
        if (kymo_cas_acq_rel(head, &old, new_head))
            return number + 1;
        kymo_cpu_relax();
    }
}

static void free_push(uint64_t *head, uint32_t number, free_link link, void *context)
{
    uint64_t old = kymo_load_acquire(head);
    for (;;) {
        uint32_t next = (uint32_t)old;
        kymo_store_relaxed(link(context, number), next ? next : FREE_LIST_END);
        uint64_t new_head = ((old >> 32) + 1) << 32 | (number + 1);
        if (kymo_cas_acq_rel(head, &old, new_head))
            return;
        kymo_cpu_relax();
    }
}

/* ---- slots and blocks ---- */

struct place {
    struct kymo_session *session;
    const struct kymo_session_plan *plan;
};

static uint32_t *slot_link(void *context, uint32_t number)
{
    const struct place *at = context;
    return &kymo_session_slot(at->session, at->plan, number)->next_free;
}

static uint32_t *block_link(void *context, uint32_t number)
{
    const struct place *at = context;
    return &kymo_session_block(at->session, at->plan, number)->next_free;
}

uint32_t kymo_slot_take(struct kymo_session *s, const struct kymo_session_plan *plan)
{
    struct place at = {s, plan};
    uint32_t slot = free_pop(&s->free_slots, 0, plan->threads, slot_link, &at);
    if (slot) {
        uint32_t touched = kymo_load_relaxed(&s->slots_touched);
        while (touched < slot && !kymo_cas_relaxed(&s->slots_touched, &touched, slot)) {
        }
    }
    return slot;
}

void kymo_slot_give(struct kymo_session *s, const struct kymo_session_plan *plan, uint32_t slot)
{
    struct place at = {s, plan};
    free_push(&s->free_slots, slot, slot_link, &at);
}

uint32_t kymo_block_take(struct kymo_session *s, const struct kymo_session_plan *plan, int large)
{
    struct place at = {s, plan};
    for (int turn = 0; turn < 2; turn++, large = !large) {
        uint32_t block = large ? free_pop(&s->free_large, plan->small_blocks, plan->large_blocks,
                                          block_link, &at)
                               : free_pop(&s->free_small, 0, plan->small_blocks, block_link, &at);
        if (block) {
            kymo_add_relaxed(&s->taken_bytes, (uint64_t)kymo_session_block_bytes(plan, block - 1));
            return block;
        }
    }
    return 0;
}

void kymo_block_give(struct kymo_session *s, const struct kymo_session_plan *plan, uint32_t block)
{
    struct place at = {s, plan};
    kymo_add_relaxed(&s->given_bytes, (uint64_t)kymo_session_block_bytes(plan, block));
    free_push(block < plan->small_blocks ? &s->free_small : &s->free_large, block, block_link, &at);
}

uint32_t kymo_blocks_in_use(const struct kymo_session *s, const struct kymo_session_plan *plan)
{
    uint64_t all = (uint64_t)plan->small_blocks * KYMO_SMALL_BLOCK_BYTES +
                   (uint64_t)plan->large_blocks * KYMO_LARGE_BLOCK_BYTES;
    uint64_t used = kymo_load_relaxed(&s->taken_bytes) - kymo_load_relaxed(&s->given_bytes);
    return used <= all ? (uint32_t)(used * 16 / all) : 0;
}

static KYMO_NOINLINE int next_block(struct kymo_stream_writer *w, struct kymo_session *s,
                                    const struct kymo_session_plan *plan, uint32_t slot)
{
    uint32_t number = kymo_block_take(s, plan, w->blocks >= 2);
    if (number == 0)
        return 0;
    struct kymo_block *block = kymo_session_block(s, plan, number - 1);
    struct kymo_thread_slot *owner = kymo_session_slot(s, plan, slot);
    block->slot = slot;
    block->generation = owner->generation;
    block->stream = w->kind;
    block->next = block->held = 0;
    kymo_store_relaxed(&block->head, sizeof *block);
    /* Pairs with the drain's acquire of first or next: it sees the header filled. */
    if (w->block)
        kymo_store_release(&w->block->next, number);
    else
        kymo_store_release(&owner->streams[w->kind].first, number);
    /* Pairs with the drain's acquire: the block is linked. */
    kymo_store_release(&owner->streams[w->kind].last, number);
    w->block = block;
    w->used = sizeof *block;
    w->room = kymo_session_block_bytes(plan, number - 1);
    w->blocks++;
    return 1;
}

void *kymo_stream_reserve(struct kymo_stream_writer *w, struct kymo_session *s,
                          const struct kymo_session_plan *plan, uint32_t slot, uint32_t size_bytes)
{
    /* No more than the smallest block has: a type of the program's may say anything. */
    if (kymo_unlikely(size_bytes > KYMO_SMALL_BLOCK_BYTES - sizeof(struct kymo_block)))
        return NULL;
    if (kymo_unlikely(!w->block || w->used + size_bytes > w->room) && !next_block(w, s, plan, slot))
        return NULL;
    return (char *)w->block + w->used;
}
