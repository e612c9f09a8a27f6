/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - keyed hashing of bytes and words, and an index from hashes to array positions.
 *
 * Layer:    base; kymo_hash_* are for both halves, kymo_index is for the cold one
 * Threads:  hashing: any; an index has one owner at a time
 * Memory:   the index uses malloc
 * Signals:  kymo_hash_* are safe, except kymo_hash_secret
 *
 * Code that hashes data from a recording or another file seeds the hash with kymo_hash_secret().
 * The file may be made so that its keys collide, but only for a hash that its maker can compute.
 * Hashes differ from process to process then, so no output may depend on them. The hot half hashes
 * with seeds of its own, and bounds its searches instead.
 *
 * kymo_index is the hash half of every interning table: the elements themselves lie in a column
 * or vector of the caller, the index maps a hash to candidate positions, and the caller compares.
 */
#ifndef KYMO_BASE_HASH_H
#define KYMO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The two halves of the 128-bit product in one word: each bit of it depends on bits of both
 * factors above and below its own place, which the lower half alone cannot say. */
static inline uint64_t kymo_hash_fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* One step of mixing, without a key: only for words that are not chosen by an adversary. */
static inline uint64_t kymo_hash_mix(uint64_t h, uint64_t word)
{
    return kymo_hash_fold(h ^ word, 0x9fb21c651e98df25ull);
}

/* All 64 bits are usable. Keys that differ in their length only have different hashes, too. */
KYMO_SIGNAL_SAFE uint64_t kymo_hash_bytes(const void *data, size_t len, uint64_t seed);
KYMO_SIGNAL_SAFE uint64_t kymo_hash_words(const uint64_t *words, size_t n, uint64_t seed);

/* The seed for keys that others choose: a random word, the same for the life of the process (and in
 * its children). Any thread may ask first; not for signal handlers. For the cold half only. */
uint64_t kymo_hash_secret(void);

typedef struct kymo_index {
    uint64_t *slots; /* upper 32 bits: of the hash; lower 32: position + 1; 0: empty */
    size_t mask;     /* number of slots - 1; slots is NULL while nothing was put */
    size_t used;
} kymo_index;

/* An index of zero bytes is valid and empty. */
void kymo_index_deinit(kymo_index *index);

/* Walks the positions that were put under this hash. Start with *probe = 0; returns 1 and a
 * position while there are candidates, 0 at the end. */
int kymo_index_find(const kymo_index *index, uint64_t hash, size_t *probe, uint32_t *position);

/* Puts position (up to UINT32_MAX - 1) under hash. */
KYMO_NODISCARD
kymo_err kymo_index_put(kymo_index *index, uint64_t hash, uint32_t position);

#endif
