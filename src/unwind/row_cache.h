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

#include "arch/row.h"
#include "base/atomic.h"
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
    /* One instruction on the critical path of a walk (the byte offset of a set is a multiple of
     * 32), and code that is laid out regularly does not collide before 64 KiB. Shifts and an
     * exclusive or instead cost 1 to 2 ns a frame (measured). */
    return (struct kymo_row_slot *)((uintptr_t)cache + (ip * 9 & set_mask));
}

/* What a key is made of beside the row's and the generation's hash. A pc that was interrupted and a
 * return address of the same value want different rows; bit 63 is of no user address. */
static inline uint64_t kymo_row_tag(uint64_t ip, uint64_t adjust)
{
    return ip ^ (adjust ? 0 : 1ull << 63);
}

/* Reads one slot; false, and anything in *row, if it is not for this pc. An empty slot may pass,
 * with KYMO_ROW_NONE. */
static inline bool kymo_row_slot_get(struct kymo_row_slot *slot, uint64_t generation_key,
                                     uint64_t tag, uint64_t *row)
{
    *row = kymo_load_relaxed(&slot->row);
    return (kymo_load_relaxed(&slot->key) ^ kymo_row_hash(*row) ^ generation_key) == tag;
}

/* The row for ip - adjust; KYMO_ROW_NONE if it is not there. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_row_cache_get(struct kymo_row_slot *cache,
                                                           uint64_t set_mask,
                                                           uint64_t generation_key, uint64_t ip,
                                                           uint64_t adjust)
{
    struct kymo_row_slot *slot = kymo_row_slot_of(cache, set_mask, ip);
    uint64_t tag = kymo_row_tag(ip, adjust);
    uint64_t row;
    if (kymo_likely(kymo_row_slot_get(slot, generation_key, tag, &row)) ||
        kymo_row_slot_get(slot + 1, generation_key, tag, &row))
        return row;
    return KYMO_ROW_NONE;
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
    kymo_store_relaxed(&slot->key, kymo_row_tag(ip, adjust) ^ kymo_row_hash(row) ^ generation_key);
}

#endif
