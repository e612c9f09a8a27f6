/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

uint64_t kymo_hash_words(const uint64_t *words, size_t n, uint64_t seed)
{
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
    for (size_t i = 0; i < n; i++)
        h = kymo_hash_mix(h, words[i]);
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9ull;
    return h ^ (h >> 32);
}

uint64_t kymo_hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15ull);
    while (len >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = kymo_hash_mix(h, word);
        p += 8;
        len -= 8;
    }
    if (len) {
        uint64_t word = 0;
        memcpy(&word, p, len);
        h = kymo_hash_mix(h, word);
    }
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9ull;
    return h ^ (h >> 32);
}

void kymo_index_deinit(kymo_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof *index);
}

/* A probe of 0 means "not begun"; otherwise it is the number of slots looked at so far. */
int kymo_index_find(const kymo_index *index, uint64_t hash, size_t *probe, uint32_t *position)
{
    if (!index->slots)
        return 0;
    uint64_t tag = hash >> 32;
    while (*probe <= index->mask) {
        uint64_t slot = index->slots[(tag + *probe) & index->mask];
        (*probe)++;
        if (slot == 0)
            return 0;
        if (slot >> 32 == tag) {
            *position = (uint32_t)slot - 1;
            return 1;
        }
    }
    return 0;
}

static void place(uint64_t *slots, size_t mask, uint64_t hash, uint64_t slot)
{
    size_t i = hash & mask;
    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = slot;
}

/* Only the upper half of a hash is kept in its slot, so the lower half, which chooses the slot,
 * cannot be recomputed from it; the tag therefore chooses the slot as well. */
static uint64_t slot_hash(uint64_t hash)
{
    return hash >> 32;
}

static kymo_err grow(kymo_index *index)
{
    size_t mask = index->slots ? index->mask * 2 + 1 : 63;
    uint64_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots)
        return KYMO_E_NOMEM;
    for (size_t i = 0; index->slots && i <= index->mask; i++)
        if (index->slots[i])
            place(slots, mask, slot_hash(index->slots[i]), index->slots[i]);
    free(index->slots);
    index->slots = slots;
    index->mask = mask;
    return KYMO_OK;
}

kymo_err kymo_index_put(kymo_index *index, uint64_t hash, uint32_t position)
{
    if (position == UINT32_MAX)
        return KYMO_E_TOO_BIG;
    if (!index->slots || index->used * 3 >= (index->mask + 1) * 2)
        KYMO_TRY(grow(index));
    place(index->slots, index->mask, slot_hash(hash),
          (hash >> 32) << 32 | (uint64_t)(position + 1));
    index->used++;
    return KYMO_OK;
}
