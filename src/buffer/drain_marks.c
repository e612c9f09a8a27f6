/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_marks.c - the drain's records of markers, labels, counts and backtraces.
 *
 * A record is copied, then checked and handed on in the copy. What of a payload makes no sense is
 * taken out of it and counted (payload.h); the rest of the marker is as good.
 */
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/drain_state.h"
#include "kymo/marker_abi.h"

#define HEAD_WORDS (sizeof(struct kymo_record) / sizeof(uint64_t))
#define FLAGS_SHIFT 16
#define SITE_MASK 0xffffu
#define FLAG_BITS 12u /* of enum kymo_mark_flags; those from the third on have a word each */
#define FIRST_WORD_FLAG 2u

static kymo_err corrupt(kymo_drain *d)
{
    d->noticed[KYMO_LOSS_CORRUPT]++;
    return KYMO_OK;
}

/* The words behind a record's head, and what follows them. */
struct mark_words {
    uint64_t of[FLAG_BITS]; /* by the bit of their flag */
    unsigned char *payload;
    uint32_t payload_bytes;
};

/* ---- payloads ---- */

static kymo_err find_literal(void *context, uint32_t *number, int *is_known)
{
    const struct kymo_known_definition *literal;
    KYMO_TRY(kymo_drain_find_definition(context, *number, KYMO_DEFINE_LITERAL, &literal));
    *is_known = literal != NULL;
    return KYMO_OK;
}

static uint64_t time_ns(void *context, uint64_t time)
{
    return kymo_drain_clock_any_ns(&((kymo_drain *)context)->clock, time);
}

/* What the site's markers carry; a payload that is too short for it is none. */
static kymo_err fix_payload(kymo_drain *d, const struct kymo_known_definition *site,
                            struct kymo_drain_marker *marker, const struct mark_words *words)
{
    struct kymo_drain_marks *m = &d->marks;
    struct kymo_payload_image image;
    struct kymo_payload payload = {
        .bytes = words->payload,
        .len = words->payload_bytes,
        .places = &m->fields,
        .context = d,
        .literal = find_literal,
        .time_ns = time_ns,
    };
    int fits = 0;
    if (kymo_payload_image_of(site->site_kind, site->type ? &m->known[site->type].image : NULL,
                              marker->cells, &image) &&
        payload.len > 0 && image.bytes + image.cells > 0) {
        KYMO_TRY(kymo_payload_check(&payload, &image, &fits));
        d->noticed[KYMO_LOSS_CORRUPT] +=
            payload.values + payload.references + payload.cells + (fits ? 0 : 1);
    }
    marker->payload = payload.bytes;
    marker->payload_bytes = fits ? payload.len : 0;
    if (!fits)
        marker->cells = 0;
    return KYMO_OK;
}

/* ---- records ---- */

/* Returns 0 if there are fewer than the flags say. */
static int split_mark(kymo_drain *d, uint32_t flags, uint32_t size, struct mark_words *words)
{
    uint32_t at = HEAD_WORDS;
    memset(words, 0, sizeof *words);
    for (uint32_t bit = FIRST_WORD_FLAG; bit < FLAG_BITS; bit++) {
        if (!(flags >> bit & 1))
            continue;
        if (at == size / sizeof(uint64_t))
            return 0;
        words->of[bit] = d->marks.record[at++];
    }
    words->payload = (unsigned char *)(d->marks.record + at);
    words->payload_bytes = size - at * (uint32_t)sizeof(uint64_t);
    return 1;
}

static uint64_t word_of(const struct mark_words *words, uint32_t flag)
{
    return words->of[__builtin_ctz(flag)];
}

/* Where its name is, if it has one of its own: anywhere in what follows the words. */
static kymo_err find_name(kymo_drain *d, const struct mark_words *words,
                          struct kymo_drain_marker *marker)
{
    struct kymo_text_slot slot;
    uint64_t word = word_of(words, KYMO_MARK_NAME);
    memcpy(&slot, &word, sizeof slot);
    marker->name = (const char *)kymo_payload_at(words->payload, words->payload_bytes, &slot, 1);
    if (!marker->name)
        return corrupt(d);
    marker->name_bytes = slot.len;
    marker->name_is_cut = (slot.flags & KYMO_TEXT_IS_CUT) != 0;
    return KYMO_OK;
}

static kymo_err read_options(kymo_drain *d, const struct mark_words *words,
                             struct kymo_drain_marker *marker)
{
    const struct kymo_known_definition *track;
    uint32_t flags = marker->flags;
    if (flags & KYMO_MARK_STACK && (uint32_t)word_of(words, KYMO_MARK_STACK))
        KYMO_TRY(
            kymo_drain_read_stack(d, (uint32_t)word_of(words, KYMO_MARK_STACK), &marker->stack));
    if (flags & KYMO_MARK_TRACK) {
        marker->track = word_of(words, KYMO_MARK_TRACK);
        KYMO_TRY(kymo_drain_find_definition(d, marker->track, KYMO_DEFINE_TRACK, &track));
        if (!track) {
            marker->track = 0;
            (void)corrupt(d);
        }
    }
    return flags & KYMO_MARK_NAME ? find_name(d, words, marker) : KYMO_OK;
}

static kymo_err read_marker(kymo_drain *d, uint32_t thread, const struct kymo_record *head)
{
    const struct kymo_known_definition *site;
    struct mark_words words;
    struct kymo_drain_marker marker = {
        .thread = thread,
        .site = head->stack & SITE_MASK,
        .flags = head->stack >> FLAGS_SHIFT,
        .stack = KYMO_NO_STACK,
        .time_ns = kymo_drain_time_ns(d, head->clock),
    };
    KYMO_TRY(kymo_drain_find_definition(d, marker.site, KYMO_DEFINE_SITE, &site));
    if (!site || marker.flags >> FLAG_BITS ||
        !split_mark(d, marker.flags, head->size_bytes, &words))
        return corrupt(d);
    KYMO_TRY(read_options(d, &words, &marker));
    if (marker.flags & KYMO_MARK_START)
        marker.start_ns = kymo_drain_time_ns(d, word_of(&words, KYMO_MARK_START));
    /* The clocks of two CPUs, or a program that says so. */
    if (marker.start_ns > marker.time_ns)
        marker.start_ns = marker.time_ns;
    marker.made_ns = marker.flags & KYMO_MARK_MADE
                         ? kymo_drain_time_ns(d, word_of(&words, KYMO_MARK_MADE))
                         : marker.time_ns;
    marker.backtrace = word_of(&words, KYMO_MARK_BACKTRACE);
    marker.tid = (uint32_t)word_of(&words, KYMO_MARK_THREAD);
    marker.owner = word_of(&words, KYMO_MARK_OWNER);
    marker.id = word_of(&words, KYMO_MARK_ID);
    uint64_t cells = word_of(&words, KYMO_MARK_CELLS);
    if (site->site_kind > KYMO_SITE_TEXT)
        marker.cells = cells > UINT16_MAX ? UINT16_MAX : (uint32_t)cells;
    KYMO_TRY(fix_payload(d, site, &marker, &words));
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    return sink->marker ? sink->marker(d->sink.context, &marker) : KYMO_OK;
}

static kymo_err read_count(kymo_drain *d, const struct kymo_record_count *r)
{
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    const struct kymo_known_definition *counter;
    KYMO_TRY(kymo_drain_find_definition(d, r->head.stack, KYMO_DEFINE_COUNTER, &counter));
    if (!counter)
        return corrupt(d);
    return sink->count ? sink->count(d->sink.context, r->head.stack,
                                     kymo_drain_time_ns(d, r->head.clock), r->value, r->operations)
                       : KYMO_OK;
}

/* Of a label that is not popped; returns 0 if it makes no sense. */
static int read_label_value(const struct kymo_record_label *r, struct kymo_drain_label *label)
{
    uint32_t text_bytes = r->head.size_bytes - (uint32_t)sizeof *r;
    const char *texts = (const char *)(r + 1);
    struct kymo_text_slot slot;
    label->key = texts;
    label->key_bytes = r->key_bytes;
    label->value = r->value;
    if (r->key_bytes > text_bytes)
        return 0;
    switch (kymo_mark_cell_form(r->value.kind)) {
    case KYMO_CELL_NUMBER:
        return 1;
    case KYMO_CELL_TEXT:
        memcpy(&slot, &r->value.value, sizeof slot);
        label->value = (struct kymo_record_cell){.kind = KYMO_KIND_TEXT};
        label->text = (const char *)r + slot.at;
        label->text_bytes = slot.len;
        label->text_is_cut = (slot.flags & KYMO_TEXT_IS_CUT) != 0;
        return slot.at >= sizeof *r && slot.at <= r->head.size_bytes &&
               slot.len <= r->head.size_bytes - slot.at;
    default:
        return r->value.kind == KYMO_KIND_NONE && r->head.stack == KYMO_LABEL_WAS_SET;
    }
}

static kymo_err read_inherited(kymo_drain *d, uint32_t thread,
                               const struct kymo_record_label_inherited *r)
{
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    const struct kymo_drain_label label = {
        .thread = thread,
        .change = KYMO_LABEL_INHERITED,
        .depth = r->depth,
        .time_ns = kymo_drain_time_ns(d, r->head.clock),
        .recorded_as = r->recorded_as,
        .tid = r->tid,
        .fork_ns = r->fork_ns,
    };
    if (r->head.size_bytes != sizeof *r)
        return corrupt(d);
    return sink->label ? sink->label(d->sink.context, &label) : KYMO_OK;
}

static kymo_err read_label(kymo_drain *d, uint32_t thread, const struct kymo_record_label *r)
{
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    struct kymo_drain_label label = {
        .thread = thread,
        .change = r->head.stack,
        .depth = r->depth,
        .time_ns = kymo_drain_time_ns(d, r->head.clock),
    };
    if (label.change == KYMO_LABEL_INHERITED)
        return read_inherited(d, thread, (const void *)r);
    if (label.change < KYMO_LABEL_PUSHED || label.change > KYMO_LABEL_WAS_SET)
        return corrupt(d);
    if (label.change != KYMO_LABEL_POPPED &&
        (r->head.size_bytes < sizeof *r || !read_label_value(r, &label)))
        return corrupt(d);
    return sink->label ? sink->label(d->sink.context, &label) : KYMO_OK;
}

static kymo_err read_backtrace(kymo_drain *d, const struct kymo_record_backtrace *r)
{
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    uint32_t stack;
    KYMO_TRY(kymo_drain_read_stack(d, r->head.stack, &stack));
    return sink->backtrace && stack != KYMO_NO_STACK
               ? sink->backtrace(d->sink.context, r->backtrace, stack)
               : KYMO_OK;
}

kymo_err kymo_drain_read_mark(kymo_drain *d, uint32_t thread, uint32_t kind, const char *at,
                              uint32_t size)
{
    struct kymo_record *head = (struct kymo_record *)(void *)d->marks.record;
    if (!d->sink.marks)
        return KYMO_OK;
    if (size > sizeof d->marks.record)
        return corrupt(d);
    memcpy(d->marks.record, at, size);
    /* As they were when they were looked at. */
    head->size_bytes = (uint16_t)size;
    head->kind = (uint16_t)kind;
    switch (kind) {
    case KYMO_RECORD_MARKER:
        return read_marker(d, thread, head);
    case KYMO_RECORD_COUNT:
        if (size == sizeof(struct kymo_record_count))
            return read_count(d, (const void *)head);
        break;
    case KYMO_RECORD_LABEL:
        /* What is popped has neither key nor value. */
        if (size >= offsetof(struct kymo_record_label, value))
            return read_label(d, thread, (const void *)head);
        break;
    case KYMO_RECORD_BACKTRACE:
        if (size == sizeof(struct kymo_record_backtrace))
            return read_backtrace(d, (const void *)head);
        break;
    default:
        break;
    }
    return corrupt(d);
}
