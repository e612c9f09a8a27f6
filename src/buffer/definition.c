/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/definition.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/text_fit.h"

#define HEAD_WORDS (sizeof(struct kymo_definition) / sizeof(uint64_t))
#define TRIES 64u /* of the index: a full neighbourhood is interned once more */

void kymo_definition_word(struct kymo_definition_pen *pen, uint64_t word)
{
    if (pen->to && pen->words < pen->room)
        pen->to[pen->words] = word;
    pen->hash = kymo_hash_mix(pen->hash, word);
    pen->words++;
}

void kymo_definition_text(struct kymo_definition_pen *pen, const char *text, size_t len)
{
    if (!text)
        len = 0;
    len = kymo_text_fit(text, len, KYMO_DEFINITION_TEXT_MAX);
    kymo_definition_word(pen, len);
    for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, text + at, len - at < sizeof word ? len - at : sizeof word);
        kymo_definition_word(pen, word);
    }
}

const struct kymo_definition *kymo_definition_at(struct kymo_session *s,
                                                 const struct kymo_session_plan *plan,
                                                 uint32_t number)
{
    if (number == 0 || number > plan->definitions)
        return NULL;
    /* Pairs with the release of intern: the definition is whole. */
    uint32_t at = kymo_load_acquire(&kymo_session_definition_index(s, plan)[number]);
    if (at == 0 || at > plan->definition_bytes - sizeof(struct kymo_definition))
        return NULL;
    return (const void *)((const char *)kymo_session_definitions(s, plan) + (at - 1));
}

static int is_same(const struct kymo_definition *d, const struct kymo_definition *wanted)
{
    return d && d->hash == wanted->hash && d->kind == wanted->kind &&
           d->size_bytes == wanted->size_bytes;
}

static uint32_t find(struct kymo_session *s, const struct kymo_session_plan *plan,
                     const struct kymo_definition_index *index,
                     const struct kymo_definition *wanted)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t number = kymo_load_acquire(&index->slots[(wanted->hash + i) & index->mask]);
        if (number == 0)
            return 0;
        if (is_same(kymo_definition_at(s, plan, number), wanted))
            return number;
    }
    return 0;
}

/* The number by which it is found from now on: another thread's, if that has made the same one
 * meanwhile, and was first. */
static uint32_t remember(struct kymo_session *s, const struct kymo_session_plan *plan,
                         const struct kymo_definition_index *index,
                         const struct kymo_definition *made)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t there = 0;
        if (kymo_cas_acq_rel(&index->slots[(made->hash + i) & index->mask], &there, made->number))
            break;
        if (is_same(kymo_definition_at(s, plan, there), made))
            return there;
    }
    return made->number;
}

/* Bytes of the area, and a number for what lies in them; 0: there is no room. */
static uint32_t claim(struct kymo_session *s, const struct kymo_session_plan *plan,
                      uint32_t size_bytes, uint64_t *at)
{
    uint64_t used = kymo_load_relaxed(&s->definition_used);
    do {
        if (used > plan->definition_bytes || size_bytes > plan->definition_bytes - used)
            return 0;
    } while (!kymo_cas_relaxed(&s->definition_used, &used, used + size_bytes));
    *at = used;
    uint32_t count = kymo_load_relaxed(&s->definition_count);
    do {
        if (count >= plan->definitions)
            return 0;
    } while (!kymo_cas_relaxed(&s->definition_count, &count, count + 1));
    return count + 1;
}

uint32_t kymo_definition_intern(struct kymo_session *s, const struct kymo_session_plan *plan,
                                const struct kymo_definition_index *index,
                                enum kymo_definition_kind kind, kymo_definition_say *say,
                                const void *what)
{
    struct kymo_definition_pen pen = {.hash = (uint64_t)kind};
    uint64_t at;
    say(&pen, what);
    uint32_t words = pen.words;
    if (words > KYMO_DEFINITION_BYTES_MAX / sizeof(uint64_t) - HEAD_WORDS)
        return 0;
    struct kymo_definition d = {.hash = pen.hash,
                                .size_bytes = (uint32_t)((words + HEAD_WORDS) * sizeof(uint64_t)),
                                .kind = (uint16_t)kind};
    uint32_t number = find(s, plan, index, &d);
    if (number)
        return number;
    number = claim(s, plan, d.size_bytes, &at);
    if (number == 0)
        return 0;
    d.number = (uint16_t)number;
    char *place = (char *)kymo_session_definitions(s, plan) + at;
    memcpy(place, &d, sizeof d);
    pen = (struct kymo_definition_pen){
        .hash = (uint64_t)kind, .to = (uint64_t *)(void *)(place + sizeof d), .room = words};
    say(&pen, what);
    /* Pairs with the acquires of kymo_definition_at and of the drain. */
    kymo_store_release(&kymo_session_definition_index(s, plan)[number], (uint32_t)at + 1);
    return remember(s, plan, index, &d);
}
