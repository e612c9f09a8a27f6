/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/*
 * Two words are made of the seed: where the state begins, and what each step multiplies by. A step
 * is state = fold(state ^ word, multiplier). Words that are chosen without the seed meet a
 * multiplier that is not known, so neither can two of them be made to give one state, nor can a
 * later word undo the difference that an earlier one made. (With a known multiplier it could: the
 * lower half of a product hands the top bits of a difference on unchanged.) The length comes last,
 * since before the first step it could be made up for by that step's word.
 */
struct key {
    uint64_t state;
    uint64_t multiplier;
};

static inline struct key make_key(uint64_t seed)
{
    /* The digits of pi, and odd. */
    uint64_t multiplier = kymo_hash_fold(seed ^ 0x243f6a8885a308d3ull, 0x13198a2e03707345ull);
    return (struct key){kymo_hash_fold(multiplier ^ 0xa4093822299f31d1ull, 0x082efa98ec4e6c89ull),
                        multiplier};
}

static inline uint64_t finish(uint64_t state, size_t n)
{
    return kymo_hash_fold(state ^ n, 0x452821e638d01377ull);
}

uint64_t kymo_hash_words(const uint64_t *words, size_t n, uint64_t seed)
{
    struct key key = make_key(seed);
    uint64_t h = key.state;
    for (size_t i = 0; i < n; i++)
        h = kymo_hash_fold(h ^ words[i], key.multiplier);
    return finish(h, n);
}

static inline uint64_t load_8(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline uint64_t load_4(const unsigned char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* All of len bytes, 1 to 7, in one word. */
static inline uint64_t load_some(const unsigned char *p, size_t len)
{
    if (len >= 4)
        return load_4(p) << 32 | load_4(p + len - 4);
    return (uint64_t)p[0] << 16 | (uint64_t)p[len / 2] << 8 | p[len - 1];
}

uint64_t kymo_hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const unsigned char *p = data;
    size_t left = len;
    struct key key = make_key(seed);
    uint64_t h = key.state;
    for (; left > 8; p += 8, left -= 8)
        h = kymo_hash_fold(h ^ load_8(p), key.multiplier);
    if (len >= 8)
        h = kymo_hash_fold(h ^ load_8(p + left - 8), key.multiplier); /* overlaps those before */
    else if (len > 0)
        h = kymo_hash_fold(h ^ load_some(p, len), key.multiplier);
    return finish(h, len);
}

void kymo_index_deinit(kymo_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof *index);
}

/*
 * Only the upper half of a hash is kept in its slot, and growing must find the place again, so it
 * is the upper half that chooses the slot, too: its lower bits, as many as there are slots. Runs of
 * full slots stay short as long as the input cannot choose hashes, and few keys have the same one.
 *
 * A probe of 0 means "not begun"; otherwise it is the number of slots looked at so far.
 */
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

static void place(uint64_t *slots, size_t mask, uint64_t slot)
{
    size_t i = (slot >> 32) & mask;
    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = slot;
}

static kymo_err grow(kymo_index *index)
{
    size_t mask = index->slots ? index->mask * 2 + 1 : 63;
    uint64_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots)
        return KYMO_E_NOMEM;
    for (size_t i = 0; index->slots && i <= index->mask; i++)
        if (index->slots[i])
            place(slots, mask, index->slots[i]);
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
    place(index->slots, index->mask, (hash >> 32) << 32 | (uint64_t)(position + 1));
    index->used++;
    return KYMO_OK;
}
