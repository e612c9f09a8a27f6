/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depot.c - see depot.h. A bucket is a list of entries, newest first; an entry is complete before
 * the compare-and-exchange that puts it at the head of its bucket, so a reader that follows the
 * list with acquire loads sees whole entries. Word 0 of an arena is never used: 0 means "none".
 *
 * Two threads that intern the same new stack at once may both store it: the second compare-and-
 * exchange fails, the loser looks through what was added meanwhile, and returns the winner's entry;
 * its own copy stays unused in the arena.
 *
 * The program can overwrite all this at any time. So every offset is checked against the arena,
 * and a bucket's list is followed for CHAIN_MAX steps at most.
 */
#include "buffer/depot.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"

#define ENTRY_WORDS (sizeof(struct kymo_depot_entry) / 8)
#define CHAIN_MAX 256

struct kymo_depot kymo_depot_at(struct kymo_session *s, const struct kymo_session_plan *plan,
                                uint32_t which)
{
    char *base = (char *)s + plan->depots_at + (which & 1) * plan->depot_bytes;
    struct kymo_depot d;
    d.head = (struct kymo_depot_head *)(void *)base;
    d.buckets = (uint32_t *)(void *)(base + sizeof *d.head);
    d.arena = (uint64_t *)(void *)(base + sizeof *d.head + plan->depot_slots * sizeof(uint32_t));
    d.slots = plan->depot_slots;
    d.words = plan->depot_words;
    return d;
}

static uint64_t key_hash(const struct kymo_stack_key *key)
{
    return kymo_hash_words(key->pcs, key->n, (uint64_t)key->generation << 32 | key->flags);
}

static uint32_t make_id(uint32_t epoch, uint32_t at)
{
    return (epoch & 0xff) << 24 | at;
}

/* Looks for the stack from entry `at` on until `until` (0: the whole bucket). */
static uint32_t look(const struct kymo_depot *d, uint32_t at, uint32_t until, uint64_t hash,
                     const struct kymo_stack_key *key)
{
    for (int step = 0; at != until && at != 0 && step < CHAIN_MAX; step++) {
        if (at > d->words - ENTRY_WORDS)
            return 0;
        const struct kymo_depot_entry *e = (const void *)(d->arena + at);
        if (e->hash == hash && e->n == key->n && e->generation == key->generation &&
            e->flags == key->flags && key->n <= d->words - ENTRY_WORDS - at &&
            memcmp(e->pcs, key->pcs, key->n * sizeof *key->pcs) == 0)
            return at;
        at = e->next;
    }
    return 0;
}

uint32_t kymo_depot_find(struct kymo_session *s, const struct kymo_session_plan *plan,
                         uint32_t epoch, const struct kymo_stack_key *key)
{
    struct kymo_depot d = kymo_depot_at(s, plan, epoch);
    uint64_t hash = key_hash(key);
    /* Pairs with the release of insert: the entry is whole when it is found. */
    uint32_t first = kymo_load_acquire(&d.buckets[hash & (d.slots - 1)]);
    uint32_t at = look(&d, first, 0, hash, key);
    return at ? make_id(epoch, at) : 0;
}

uint32_t kymo_depot_insert(struct kymo_session *s, const struct kymo_session_plan *plan,
                           uint32_t epoch, const struct kymo_stack_key *key)
{
    struct kymo_depot d = kymo_depot_at(s, plan, epoch);
    uint64_t hash = key_hash(key);
    uint32_t *bucket = &d.buckets[hash & (d.slots - 1)];
    uint32_t words = (uint32_t)ENTRY_WORDS + key->n;
    uint32_t used = kymo_load_relaxed(&d.head->used_words);
    do {
        if (words >= d.words || used >= d.words - words)
            return 0;
    } while (!kymo_cas_relaxed(&d.head->used_words, &used, used + words));
    uint32_t at = used + 1;

    struct kymo_depot_entry *e = (void *)(d.arena + at);
    e->hash = hash;
    e->generation = key->generation;
    e->n = key->n;
    e->flags = key->flags;
    memcpy(e->pcs, key->pcs, key->n * sizeof *key->pcs);
    uint32_t first = 0; /* as far as this thread has looked */
    uint32_t seen = kymo_load_acquire(bucket);
    do {
        uint32_t other = look(&d, seen, first, hash, key);
        if (other)
            return make_id(epoch, other);
        first = seen;
        e->next = seen;
        /* Pairs with the acquires of find and of the drain. */
    } while (!kymo_cas_acq_rel(bucket, &seen, at));
    return make_id(epoch, at);
}

uint32_t kymo_depot_pin(const struct kymo_session *s, uint32_t *pin)
{
    uint32_t epoch = kymo_load_relaxed(&s->depot_epoch);
    for (;;) {
        /* Sequentially consistent with the recorder, which moves the epoch on and then reads the
         * pins: either it sees this pin, or this thread sees the new epoch. */
        kymo_store_seqcst(pin, epoch + 1);
        uint32_t again = kymo_load_seqcst(&s->depot_epoch);
        if (again == epoch)
            return epoch;
        epoch = again;
    }
}

void kymo_depot_unpin(uint32_t *pin)
{
    kymo_store_release(pin, 0);
}
