/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_cache.h - from a pc to its packed row in a few nanoseconds, shared by all threads.
 *
 * Layer:    unwind; above base
 * Flow:     unwind.c -> [cache] -> unwind.c
 * Threads:  any number of readers and writers, without locks
 * Memory:   struct kymo_row_slot, the caller's (unwind.h)
 * Signals:  safe
 *
 * A slot's two words are written and read without any order. The key is the pc, the row's hash and
 * the generation's hash xored, so a reader that sees words of two writers takes a row for its own
 * pc only if pc ^ pc' == hash(row) ^ hash(row'). Rows that differ only in their upper 17 bits give
 * hashes that differ there, where pcs never do; others collide with a probability of about 2^-47.
 *
 * The pc is given as the frame has it, and by how much it is to be adjusted (0, or 1 for a return
 * address) apart from it, since from it to the slot is the critical path of a walk.
 */
#ifndef KYMO_UNWIND_ROW_CACHE_H
#define KYMO_UNWIND_ROW_CACHE_H

#include "base/atomic.h"
#include "unwind/row.h"
#include "unwind/unwind.h"

static inline uint64_t kymo_row_hash(uint64_t row)
{
    return row * 0x9fb21c651e98df25ull;
}

static inline uint64_t kymo_generation_key(uint32_t generation)
{
    return generation * 0xd6e8feb86659fd93ull;
}

/* The byte offsets of the first slots of all sets. */
static inline uint64_t kymo_row_set_mask(uint32_t cache_mask)
{
    return (uint64_t)(cache_mask & ~1u) << 4;
}

/* The two slots that a pc may be in: the first is the one that was put last. */
static inline struct kymo_row_slot *kymo_row_slot_of(struct kymo_row_slot *cache, uint64_t set_mask,
                                                     uint64_t ip)
{
    /* Code that is laid out regularly collides in its last bits alone. Computed in bytes, so that
     * the two shifts do not wait for each other. */
    return (struct kymo_row_slot *)((uintptr_t)cache + ((ip << 5 ^ ip >> 6) & set_mask));
}

static inline uint64_t kymo_row_slot_get(struct kymo_row_slot *slot, uint64_t generation_key,
                                         uint64_t ip, uint64_t adjust)
{
    uint64_t row = kymo_load_relaxed(&slot->row);
    uint64_t key = kymo_load_relaxed(&slot->key);
    return kymo_likely((key ^ kymo_row_hash(row) ^ generation_key) + adjust == ip) ? row
                                                                                   : KYMO_ROW_NONE;
}

/* The row for ip - adjust; KYMO_ROW_NONE if it is not there. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_row_cache_get(struct kymo_row_slot *cache,
                                                           uint64_t set_mask,
                                                           uint64_t generation_key, uint64_t ip,
                                                           uint64_t adjust)
{
    struct kymo_row_slot *slot = kymo_row_slot_of(cache, set_mask, ip);
    uint64_t row = kymo_row_slot_get(slot, generation_key, ip, adjust);
    if (kymo_unlikely(row == KYMO_ROW_NONE))
        row = kymo_row_slot_get(slot + 1, generation_key, ip, adjust);
    return row;
}

/* What was in the first slot moves to the second. */
KYMO_SIGNAL_SAFE static inline void kymo_row_cache_put(struct kymo_row_slot *cache,
                                                       uint64_t set_mask, uint64_t generation_key,
                                                       uint64_t ip, uint64_t adjust, uint64_t row)
{
    struct kymo_row_slot *slot = kymo_row_slot_of(cache, set_mask, ip);
    kymo_store_relaxed(&slot[1].row, kymo_load_relaxed(&slot->row));
    kymo_store_relaxed(&slot[1].key, kymo_load_relaxed(&slot->key));
    kymo_store_relaxed(&slot->row, row);
    kymo_store_relaxed(&slot->key, (ip - adjust) ^ kymo_row_hash(row) ^ generation_key);
}

#endif
