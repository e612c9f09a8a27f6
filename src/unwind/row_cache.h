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
 * The slot is that of the pc before it is adjusted by one: this is on the critical path of a walk.
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

/* look: the pc, or the return address less one, whose row is wanted; ip: the same, not adjusted.
 * KYMO_ROW_NONE if it is not there. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_row_cache_get(struct kymo_row_slot *cache,
                                                           uint32_t mask, uint64_t generation_key,
                                                           uint64_t ip, uint64_t look)
{
    struct kymo_row_slot *slot = &cache[ip & mask];
    uint64_t row = kymo_load_relaxed(&slot->row);
    uint64_t key = kymo_load_relaxed(&slot->key);
    return (key ^ kymo_row_hash(row) ^ generation_key) == look ? row : KYMO_ROW_NONE;
}

KYMO_SIGNAL_SAFE static inline void kymo_row_cache_put(struct kymo_row_slot *cache, uint32_t mask,
                                                       uint64_t generation_key, uint64_t ip,
                                                       uint64_t look, uint64_t row)
{
    struct kymo_row_slot *slot = &cache[ip & mask];
    kymo_store_relaxed(&slot->row, row);
    kymo_store_relaxed(&slot->key, look ^ kymo_row_hash(row) ^ generation_key);
}

#endif
