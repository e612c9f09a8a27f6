/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - lays out and formats a session.
 *
 * The shares of the default 32 MiB: threads 1 MiB (4096 slots), modules 1 MiB, definitions 1.5 MiB
 * with what belongs to them, open scopes 2 MiB, counters 128 KiB, Python's code 2 MiB, the two
 * depots 6 MiB each, and the rest half to small blocks and half to large ones: 4 KiB blocks for a
 * thousand threads that do little, 64 KiB ones for the few that do much. Pages are touched only as
 * they are used, so the shares bound the memory and do not cost it.
 */
#include "buffer/session.h"

#include <string.h>

#include "arch/system.h"

#define PAGE KYMO_ARCH_PAGE_BYTES
#define HEADER_BYTES PAGE

_Static_assert(sizeof(struct kymo_session) <= HEADER_BYTES, "the header fits its page");

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static uint32_t power_of_two_below(uint64_t n)
{
    uint32_t p = 1;
    while ((uint64_t)p * 2 <= n && p < 1u << 30)
        p *= 2;
    return p;
}

kymo_err kymo_session_plan(uint64_t total_bytes, struct kymo_session_plan *plan)
{
    if (total_bytes < 1u << 20 || total_bytes > 1ull << 32)
        return KYMO_E_RANGE;
    struct kymo_session_plan p = {.total_bytes = page_up(total_bytes)};
    /* 4096 slots and 2048 modules from 32 MiB on, fewer in proportion below. */
    uint32_t share = power_of_two_below(p.total_bytes >> 20);
    /* Sites keep a definition's number in 16 bits, and one of them says that there is none. */
    p.definitions = 512u * (share > 64 ? 64 : share);
    p.definition_bytes = 32768u * share;
    if (share > 32)
        share = 32;
    p.threads = 128u * share;
    p.modules = 64u * share;
    p.module_slots = p.modules * 2;
    p.counters = 8u * share;
    p.depot_bytes = page_up(p.total_bytes * 5 / 32);
    p.depot_slots = power_of_two_below(p.depot_bytes / 64 / sizeof(uint32_t));
    p.depot_words = (uint32_t)((p.depot_bytes - sizeof(struct kymo_depot_head) -
                                p.depot_slots * sizeof(uint32_t)) /
                               8);
    /* Ids have 24 bits for the word offset. */
    if (p.depot_words > (1u << 24) - 1)
        p.depot_words = (1u << 24) - 1;

    /* Numbers of code have 24 bits (buffer/record.h). */
    p.code_words = (uint32_t)(p.total_bytes / 16 / 8);
    if (p.code_words > KYMO_PC_PYTHON_CODE_MAX)
        p.code_words = KYMO_PC_PYTHON_CODE_MAX;
    p.code_slots = power_of_two_below(p.code_words / 8);

    p.tables_at = HEADER_BYTES;
    p.threads_at = page_up(p.tables_at + sizeof(struct kymo_table_area));
    p.modules_at = page_up(p.threads_at + (uint64_t)p.threads * sizeof(struct kymo_thread_slot));
    p.module_index_at =
        page_up(p.modules_at + (uint64_t)p.modules * sizeof(struct kymo_module_entry));
    p.definition_index_at =
        page_up(p.module_index_at + (uint64_t)p.module_slots * sizeof(uint32_t));
    p.definitions_at =
        page_up(p.definition_index_at + ((uint64_t)p.definitions + 1) * sizeof(uint32_t));
    p.site_counts_at = page_up(p.definitions_at + p.definition_bytes);
    p.scopes_at =
        page_up(p.site_counts_at + ((uint64_t)p.definitions + 1) * sizeof(struct kymo_site_counts));
    p.counters_at = page_up(p.scopes_at + (uint64_t)p.threads * KYMO_OPEN_SCOPES *
                                              sizeof(struct kymo_open_scope));
    p.code_index_at = page_up(p.counters_at + (uint64_t)p.counters * KYMO_COUNTER_PARTS *
                                                  sizeof(struct kymo_counter_part));
    p.codes_at = page_up(p.code_index_at + (uint64_t)p.code_slots * sizeof(uint32_t));
    p.depots_at = page_up(p.codes_at + (uint64_t)p.code_words * sizeof(uint64_t));
    p.small_at = p.depots_at + 2 * p.depot_bytes;
    if (p.small_at + 2 * KYMO_LARGE_BLOCK_BYTES > p.total_bytes)
        return KYMO_E_RANGE;
    uint64_t left = p.total_bytes - p.small_at;
    p.small_blocks = (uint32_t)(left / 2 / KYMO_SMALL_BLOCK_BYTES);
    p.large_at = p.small_at + (uint64_t)p.small_blocks * KYMO_SMALL_BLOCK_BYTES;
    p.large_blocks = (uint32_t)((p.total_bytes - p.large_at) / KYMO_LARGE_BLOCK_BYTES);
    *plan = p;
    return KYMO_OK;
}

/* Chains blocks [from, to) so that the first comes off first. Only the headers of the blocks are
 * touched; to keep even those pages untouched, a block that was never used has next_free 0, which
 * a pop reads as "the one behind me" (block.c). */
void kymo_session_format(struct kymo_session *s, const struct kymo_session_plan *plan)
{
    s->magic = KYMO_SESSION_MAGIC;
    s->layout = KYMO_SESSION_LAYOUT;
    s->header_bytes = HEADER_BYTES;
    s->total_bytes = plan->total_bytes;
    s->free_slots = 1;
    s->free_small = 1;
    s->free_large = (uint64_t)plan->small_blocks + 1;
    s->depot_epoch = 0;
    s->module_generation = 1;
}

kymo_err kymo_session_check(const struct kymo_session *s, size_t size,
                            struct kymo_session_plan *plan)
{
    if (size < HEADER_BYTES || s->magic != KYMO_SESSION_MAGIC)
        return KYMO_E_CORRUPT;
    if (s->layout != KYMO_SESSION_LAYOUT || s->header_bytes != HEADER_BYTES)
        return KYMO_E_VERSION;
    if (s->total_bytes != size)
        return KYMO_E_CORRUPT;
    return kymo_session_plan(size, plan);
}
