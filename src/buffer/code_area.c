/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/code_area.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"

#define PROBES 64u

static uint32_t *slot_of(struct kymo_session *s, const struct kymo_session_plan *plan,
                         const struct kymo_code_identity *identity, uint32_t i)
{
    uint32_t *index = (uint32_t *)(void *)((char *)s + plan->code_index_at);
    /* Not of one and the other alone: a code object and its line table often lie as far apart. */
    uint64_t hash = kymo_hash_mix(identity->address * 5, identity->lines);
    return &index[(hash + i) & (plan->code_slots - 1)];
}

static struct kymo_code_record *record_of(struct kymo_session *s,
                                          const struct kymo_session_plan *plan, uint32_t number)
{
    return (struct kymo_code_record *)(void *)((char *)s + plan->codes_at + (uint64_t)number * 8);
}

/* Word by word: for each frame of each stack, and a call of memcmp takes longer. */
static inline int are_equal(const struct kymo_code_identity *a, const struct kymo_code_identity *b)
{
    return ((a->address ^ b->address) | (a->file ^ b->file) | (a->name ^ b->name) |
            (a->lines ^ b->lines) | (a->first_line ^ b->first_line)) == 0;
}

/* The program may have overwritten the number. */
static int is_same(struct kymo_session *s, const struct kymo_session_plan *plan, uint32_t number,
                   const struct kymo_code_identity *identity)
{
    return number <= plan->code_words - sizeof(struct kymo_code_record) / 8 &&
           are_equal(&record_of(s, plan, number)->identity, identity);
}

uint32_t kymo_code_find(struct kymo_session *s, const struct kymo_session_plan *plan,
                        const struct kymo_code_identity *identity)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        /* Pairs with the release in kymo_code_publish: the record is whole. */
        uint32_t number = kymo_load_acquire(slot_of(s, plan, identity, i));
        if (number == 0)
            return 0;
        if (is_same(s, plan, number, identity))
            return number;
    }
    return 0;
}

struct kymo_code_record *kymo_code_claim(struct kymo_session *s,
                                         const struct kymo_session_plan *plan, uint32_t bytes,
                                         uint32_t *number)
{
    uint32_t words = (uint32_t)(sizeof(struct kymo_code_record) / 8) + (bytes + 7) / 8;
    if (kymo_load_relaxed(&s->code_used) > plan->code_words)
        return NULL; /* so that the count does not wrap */
    uint32_t at = kymo_add_relaxed(&s->code_used, words) + 1;
    if (at > plan->code_words || words > plan->code_words - at)
        return NULL;
    *number = at;
    struct kymo_code_record *record = record_of(s, plan, at);
    record->words = words;
    return record;
}

uint32_t kymo_code_publish(struct kymo_session *s, const struct kymo_session_plan *plan,
                           uint32_t number)
{
    const struct kymo_code_record *record = record_of(s, plan, number);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t *slot = slot_of(s, plan, &record->identity, i);
        uint32_t there = 0;
        if (kymo_cas_acq_rel(slot, &there, number))
            return number;
        if (is_same(s, plan, there, &record->identity))
            return there;
    }
    return 0;
}
