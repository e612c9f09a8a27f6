/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_definitions.c - what markers name by number, as far as the session has it.
 *
 * Each definition is copied once, checked in the copy, and handed on after those that it names;
 * those have lower numbers. What was handed on, or makes no sense, is settled: whatever the program
 * writes to it later is not seen. Honest ones lie beside each other, so that together they are not
 * more than the area; that bounds the work that a program can make of overlapping ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/definition.h"
#include "buffer/drain_state.h"
#include "buffer/mark_field.h"
#include "kymo/marker_abi.h"

/* A marker names a site, that a category, that a parent. */
#define DEPTH_MAX 4u

static kymo_err learn(kymo_drain *d, uint32_t number, unsigned depth);

/* A copy from malloc of what the index has for this number; NULL: it makes no sense. */
static kymo_err copy_definition(kymo_drain *d, uint32_t number, uint32_t at,
                                struct kymo_definition **out)
{
    const uint32_t area = d->plan.definition_bytes;
    struct kymo_definition head;
    *out = NULL;
    at--;
    if (at % sizeof(uint64_t) || at > area - sizeof head)
        return KYMO_OK;
    const char *from = (const char *)kymo_session_definitions(d->session, &d->plan) + at;
    memcpy(&head, from, sizeof head);
    if (head.number != number || head.size_bytes % sizeof(uint64_t) ||
        head.size_bytes < sizeof head || head.size_bytes > area - at ||
        head.size_bytes > KYMO_DEFINITION_BYTES_MAX ||
        head.size_bytes > area - d->marks.copied_bytes)
        return KYMO_OK;
    struct kymo_definition *copy = malloc(head.size_bytes);
    if (!copy)
        return KYMO_E_NOMEM;
    memcpy(copy, from, head.size_bytes);
    *copy = head;
    d->marks.copied_bytes += head.size_bytes;
    if (kymo_definition_is_whole(copy))
        *out = copy;
    else
        free(copy);
    return KYMO_OK;
}

/* Whether what `number` names as `wanted` is there, and of that kind. */
static kymo_err find_named(kymo_drain *d, uint32_t number, uint64_t wanted,
                           enum kymo_definition_kind kind, unsigned depth, int *found)
{
    *found = 0;
    if (wanted == 0 || wanted >= number)
        return KYMO_OK;
    KYMO_TRY(learn(d, (uint32_t)wanted, depth - 1));
    *found = d->marks.known[wanted].kind == kind;
    return KYMO_OK;
}

/* Where a type's fields lie in its C structure. */
static kymo_err lay_out(kymo_drain *d, struct kymo_definition_reader *r,
                        struct kymo_known_definition *known, int *fits)
{
    kymo_payload_places *places = &d->marks.fields;
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    uint32_t len;
    for (int i = 0; i < 3; i++) /* show, is_stack_based, max_per_second */
        (void)kymo_definition_read_word(r);
    uint64_t payload_bytes = kymo_definition_read_word(r);
    for (int i = 0; i < 6; i++) /* chart to file */
        (void)kymo_definition_read_text(r, &len);
    (void)kymo_definition_read_word(r); /* line */
    uint64_t count = kymo_definition_read_word(r);
    *fits = 0;
    known->image = (struct kymo_payload_image){.first = (uint32_t)places->len};
    for (; count > 0; count--) {
        (void)kymo_definition_read_text(r, &len);
        (void)kymo_definition_read_text(r, &len);
        uint32_t kind = kymo_definition_read_word(r) & 0xff;
        if (!kymo_mark_kind_bytes(kind))
            return KYMO_OK;
        KYMO_TRY(kymo_payload_add_field(places, &known->image, &layout, kind));
    }
    *fits = payload_bytes >= layout.at && payload_bytes <= KYMO_MARK_RECORD_MAX;
    known->image.bytes = *fits ? (uint32_t)payload_bytes : 0;
    return KYMO_OK;
}

/* What is behind a site's category: its type, and what its markers' payloads are. */
static kymo_err look_at_site(kymo_drain *d, uint32_t number, struct kymo_definition_reader *r,
                             unsigned depth, struct kymo_known_definition *known, int *fits)
{
    uint32_t len;
    uint64_t type = kymo_definition_read_word(r);
    for (int i = 0; i < 4; i++) /* name to function */
        (void)kymo_definition_read_text(r, &len);
    (void)kymo_definition_read_word(r); /* line */
    uint64_t kind = kymo_definition_read_word(r);
    /* A payload is a type's, or one of the other kinds. */
    *fits = kind < KYMO_SITE_TEXT || (kind <= KYMO_SITE_VALUES && type == 0);
    known->site_kind = (uint32_t)kind;
    known->type = (uint32_t)type;
    return type && *fits ? find_named(d, number, type, KYMO_DEFINE_TYPE, depth, fits) : KYMO_OK;
}

/* Whether all that it names is there, and what the drain itself must know of it. */
static kymo_err look_into(kymo_drain *d, const struct kymo_definition *copy, unsigned depth,
                          struct kymo_known_definition *known, int *fits)
{
    struct kymo_definition_reader r = kymo_definition_reader_of(copy);
    uint32_t len;
    uint64_t named, kind;
    *fits = 1;
    switch ((enum kymo_definition_kind)copy->kind) {
    case KYMO_DEFINE_CATEGORY:
        (void)kymo_definition_read_text(&r, &len);
        named = kymo_definition_read_word(&r);
        return named ? find_named(d, copy->number, named, KYMO_DEFINE_CATEGORY, depth, fits)
                     : KYMO_OK;
    case KYMO_DEFINE_TYPE:
        (void)kymo_definition_read_text(&r, &len);
        return lay_out(d, &r, known, fits);
    case KYMO_DEFINE_SITE:
        named = kymo_definition_read_word(&r);
        KYMO_TRY(find_named(d, copy->number, named, KYMO_DEFINE_CATEGORY, depth, fits));
        return *fits ? look_at_site(d, copy->number, &r, depth, known, fits) : KYMO_OK;
    case KYMO_DEFINE_COUNTER:
        named = kymo_definition_read_word(&r);
        KYMO_TRY(find_named(d, copy->number, named, KYMO_DEFINE_CATEGORY, depth, fits));
        for (int i = 0; i < 3; i++)
            (void)kymo_definition_read_text(&r, &len);
        kind = kymo_definition_read_word(&r);
        known->counter_kind = (uint32_t)kind;
        known->counter_is_f64 = (kymo_definition_read_word(&r) & KYMO_COUNTER_IS_F64) != 0;
        *fits = *fits && kind <= KYMO_COUNTER_GAUGE;
        return KYMO_OK;
    default:
        return KYMO_OK;
    }
}

/* Settles one, if it is there. */
static kymo_err learn(kymo_drain *d, uint32_t number, unsigned depth)
{
    struct kymo_known_definition *known = &d->marks.known[number];
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    struct kymo_definition *copy;
    int fits = 0;
    if (known->kind || known->unfit || depth == 0)
        return KYMO_OK;
    /* Pairs with the release of kymo_definition_intern: it is whole. */
    uint32_t at = kymo_load_acquire(&kymo_session_definition_index(d->session, &d->plan)[number]);
    if (at == 0)
        return KYMO_OK;
    known->unfit = 1;
    KYMO_TRY(copy_definition(d, number, at, &copy));
    kymo_err err = copy ? look_into(d, copy, depth, known, &fits) : KYMO_OK;
    if (err == KYMO_OK && fits && sink->definition)
        err = sink->definition(d->sink.context, number, copy, copy);
    if (err == KYMO_OK && fits) {
        known->kind = copy->kind;
        known->unfit = 0;
        if (d->marks.highest < number)
            d->marks.highest = number;
    }
    d->noticed[KYMO_LOSS_CORRUPT] += !fits;
    free(copy);
    return err;
}

kymo_err kymo_drain_scan_definitions(kymo_drain *d)
{
    struct kymo_drain_marks *m = &d->marks;
    if (!d->sink.marks)
        return KYMO_OK;
    uint32_t count = kymo_load_acquire(&d->session->definition_count);
    if (count > d->plan.definitions)
        count = d->plan.definitions;
    for (uint32_t i = m->seen + 1; i <= count; i++) {
        KYMO_TRY(learn(d, i, DEPTH_MAX));
        /* A thread that was stopped, or ended, between a number and its definition leaves a hole.
         */
        if (m->seen == i - 1 && (m->known[i].kind || m->known[i].unfit))
            m->seen = i;
    }
    return KYMO_OK;
}

kymo_err kymo_drain_find_definition(kymo_drain *d, uint64_t number, enum kymo_definition_kind kind,
                                    const struct kymo_known_definition **out)
{
    *out = NULL;
    if (number == 0 || number > d->plan.definitions)
        return KYMO_OK;
    KYMO_TRY(learn(d, (uint32_t)number, DEPTH_MAX));
    const struct kymo_known_definition *known = &d->marks.known[number];
    *out = known->kind == (uint32_t)kind ? known : NULL;
    return KYMO_OK;
}
