/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/stream.h"

#include <string.h>

#include "base/atomic.h"
#include "buffer/free_list.h"

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
    uint32_t slot = kymo_free_pop(&s->free_slots, 0, plan->threads, slot_link, &at);
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
    kymo_free_push(&s->free_slots, slot, slot_link, &at);
}

uint32_t kymo_block_take(struct kymo_session *s, const struct kymo_session_plan *plan, int large)
{
    struct place at = {s, plan};
    for (int turn = 0; turn < 2; turn++, large = !large) {
        uint32_t block =
            large ? kymo_free_pop(&s->free_large, plan->small_blocks, plan->large_blocks,
                                  block_link, &at)
                  : kymo_free_pop(&s->free_small, 0, plan->small_blocks, block_link, &at);
        if (block)
            return block;
    }
    return 0;
}

void kymo_block_give(struct kymo_session *s, const struct kymo_session_plan *plan, uint32_t block)
{
    struct place at = {s, plan};
    kymo_free_push(block < plan->small_blocks ? &s->free_small : &s->free_large, block, block_link,
                   &at);
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
    block->next = 0;
    kymo_store_relaxed(&block->head, sizeof *block);
    /* Pairs with the drain's acquire of first or next: it sees the header filled. */
    if (w->block)
        kymo_store_release(&w->block->next, number);
    else
        kymo_store_release(&owner->streams[w->kind].first, number);
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
