/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_quick.c - see mark_quick.h.
 *
 * The image of a payload is copied word by word. Then each text is put behind it, and its slot
 * replaces the word that pointed to it. The recorder does not read the record before it is
 * published, and all slots are written by then: no address of the program gets out.
 *
 * What does not fit, a text that has to be cut and a literal for which there is no room are the
 * slow way's: it writes the whole marker again.
 */
#include "capture/mark_quick.h"

#include <string.h>

#include "base/atomic.h"
#include "buffer/mark_field.h"
#include "capture/mark_payload.h"

#define HEAD_BYTES ((uint32_t)sizeof(struct kymo_record))
/* The bytes up to a record's end are zeroed by one store of a word, which may reach behind it. */
#define SLACK 8u

/* ---- texts ---- */

/* No call for what is short, as most texts are: both ends of it, which may overlap. */
KYMO_INLINE void copy_text(char *to, const char *text, size_t n)
{
    if (n >= 16) {
        for (size_t i = 0; i + 16 < n; i += 16)
            memcpy(to + i, text + i, 16);
        memcpy(to + n - 16, text + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, text, 8);
        memcpy(to + n - 8, text + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, text, 4);
        memcpy(to + n - 4, text + n - 4, 4);
    } else if (n) {
        to[0] = text[0];
        to[n / 2] = text[n / 2];
        to[n - 1] = text[n - 1];
    }
}

/* A struct kymo_text_slot as the word that it is. */
KYMO_INLINE uint64_t slot_word(uint64_t at, uint64_t len, uint32_t flags)
{
    return at | len << 32 | (uint64_t)(flags | KYMO_TEXT_IS_THERE) << 48;
}

/* Puts text to `at`; returns its end, or NULL if that were behind `end`. *slot: for it. */
KYMO_INLINE char *put_text(char *at, const char *end, const char *image, const char *text,
                           size_t len, uint64_t *slot)
{
    *slot = 0;
    if (kymo_unlikely(!text))
        return at;
    if (kymo_unlikely(len > KYMO_MARK_TEXT_MAX) || kymo_unlikely(len > (size_t)(end - at)))
        return NULL;
    *slot = slot_word((uint64_t)(at - image), len, 0);
    copy_text(at, text, len);
    return at + len;
}

KYMO_INLINE size_t length(const char *text)
{
    return text ? strnlen(text, KYMO_MARK_TEXT_MAX + 1) : 0;
}

/* 0: it is absent, or there is no room for it. */
KYMO_INLINE uint64_t literal_slot(struct kymo_capture_process *p, const char *text)
{
    uint32_t number = text ? kymo_mark_literal(p, text) : 0;
    return number ? slot_word(number, 0, KYMO_TEXT_IS_LITERAL) : 0;
}

/* The texts of a payload, behind its image; returns their end, or NULL if one does not fit. */
static char *put_texts(struct kymo_capture_process *p, uint64_t texts, const uint64_t *from,
                       uint64_t *image, char *at, const char *end)
{
    do {
        uint32_t word = texts >> KYMO_MARK_TEXT_KIND_BITS & KYMO_MARK_TEXT_WORD_MAX;
        uint32_t place = texts & KYMO_MARK_TEXT_KIND;
        const char *text = (const char *)(uintptr_t)from[word];
        uint64_t slot;
        if (place == KYMO_MARK_TEXT_LITERAL) {
            slot = literal_slot(p, text);
            if (kymo_unlikely(!slot && text))
                return NULL;
        } else {
            size_t len = place == KYMO_MARK_TEXT_STR ? length(text) : from[word + 1];
            if (place == KYMO_MARK_TEXT_COUNTED)
                image[word + 1] = 0;
            at = put_text(at, end, (const char *)image, text, len, &slot);
            if (kymo_unlikely(!at))
                return NULL;
        }
        image[word] = slot;
        texts >>= KYMO_MARK_TEXT_BITS;
    } while (texts);
    return at;
}

static KYMO_NOINLINE char *put_fields(struct kymo_capture_process *p,
                                      const struct kymo_mark_site *site, const void *payload,
                                      uint64_t *image, const char *end)
{
    uint32_t room = (uint32_t)(end - (const char *)image);
    struct kymo_mark_pen pen = {(char *)image, room, room, 0, 0};
    kymo_mark_put_payload(&pen, p, site, payload);
    return pen.used > pen.room || pen.cut ? NULL : pen.to + pen.used;
}

static char *put_cells(const struct kymo_mark_cell *cells, uint32_t count,
                       struct kymo_record_cell *to, const char *end)
{
    char *at = (char *)(to + count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = cells[i].kind;
        uint64_t value = cells[i].as.u64;
        uint32_t form = kymo_mark_cell_form(kind);
        if (form == KYMO_CELL_TEXT) {
            const char *text = cells[i].as.ptr;
            size_t len = kind == KYMO_KIND_STR ? length(text) : cells[i].len;
            at = put_text(at, end, (const char *)to, text, len, &value);
            if (kymo_unlikely(!at))
                return NULL;
            kind = value ? KYMO_KIND_TEXT : KYMO_KIND_NONE;
        } else if (kymo_unlikely(form == KYMO_CELL_NONE)) {
            kind = KYMO_KIND_NONE;
            value = 0;
        }
        to[i] = (struct kymo_record_cell){.kind = kind, .value = value};
    }
    return at;
}

/* ---- records ---- */

/* Behind what the payload of a record at `to` may be. */
KYMO_INLINE const char *end_of_room(const struct kymo_stream_writer *w, const char *to)
{
    uint32_t room = w->room - w->used;
    return to + (room < KYMO_MARK_RECORD_MAX ? room : KYMO_MARK_RECORD_MAX) - SLACK;
}

/* The record reaches to `end`; NULL: it did not fit. */
KYMO_INLINE int publish(struct kymo_capture_thread *t, struct kymo_stream_writer *w, uint64_t *to,
                        char *end, uint64_t clock, uint64_t head)
{
    static const uint64_t zero;
    if (kymo_unlikely(!end)) {
        kymo_claim_end(w);
        return 0;
    }
    uint32_t size_bytes = ((uint32_t)(end - (char *)to) + 7) & ~7u;
    memcpy(end, &zero, sizeof zero);
    to[0] = clock;
    to[1] = head | (uint64_t)size_bytes << 16;
    kymo_mark_done(t, w, size_bytes);
    return 1;
}

/* The whole marker; `more`, of so many words: 0 or 1, what the flags in the head tell of. */
KYMO_INLINE int write_quickly(const struct kymo_mark_site *site, const void *payload,
                              uint64_t frame, uint64_t head, uint64_t clock, uint32_t more_words,
                              uint64_t more)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    uint32_t words = payload ? site->words : 0;
    const uint64_t *from = payload;
    struct kymo_stream_writer *w =
        kymo_mark_claim_room(t, HEAD_BYTES + (more_words + words) * 8 + SLACK, frame);
    if (kymo_unlikely(!w))
        return 0;
    uint64_t *to = (uint64_t *)(void *)((char *)w->block + w->used);
    const char *end = end_of_room(w, (const char *)to);
    uint64_t *image = to + 2 + more_words;
    char *at = (char *)(image + words);
    if (more_words)
        to[2] = more;
    if (kymo_likely(!(site->slow & KYMO_MARK_BY_FIELD))) {
        for (size_t i = 0; i < words; i++)
            image[i] = from[i];
        if (words && site->texts)
            at = put_texts(t->process, site->texts, from, image, at, end);
    } else {
        at = put_fields(t->process, site, payload, image, end);
    }
    return publish(t, w, to, at, clock, head);
}

int kymo_mark_texts(const struct kymo_mark_site *site, const void *payload, uint32_t number,
                    uint64_t frame)
{
    return !(site->slow & KYMO_MARK_LIMITED) &&
           write_quickly(site, payload, frame, kymo_mark_head(number, KYMO_PHASE_INSTANT),
                         kymo_clock_tsc(), 0, 0);
}

int kymo_mark_scope_texts(const struct kymo_mark_scope *scope, uint32_t number, uint64_t end,
                          uint64_t frame)
{
    uint64_t head = kymo_mark_head(number, KYMO_PHASE_INTERVAL | KYMO_MARK_START);
    return !(scope->site->slow & KYMO_MARK_LIMITED) &&
           write_quickly(scope->site, scope->payload, frame, head, end, 1, scope->start);
}

int kymo_mark_end_of_interval(const struct kymo_mark_site *site, const void *payload,
                              const struct kymo_mark_options *o, uint64_t frame)
{
    uint32_t is_start = o->timing == KYMO_TIMING_START;
    uint32_t number = kymo_mark_ready(kymo_thread_self, site);
    if (kymo_unlikely(number == 0) || o->size != sizeof *o ||
        (!is_start && o->timing != KYMO_TIMING_END) || o->start | o->end | o->stack | o->track ||
        o->owner | o->thread || o->name)
        return 0;
    uint32_t phase = is_start ? KYMO_PHASE_BEGIN : KYMO_PHASE_END;
    return write_quickly(site, payload, frame, kymo_mark_head(number, phase | KYMO_MARK_ID),
                         kymo_clock_tsc(), 1, o->id);
}

int kymo_mark_plain_cells(const struct kymo_mark_site *site, const struct kymo_mark_cell *cells,
                          uint32_t count, uint64_t frame)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    uint32_t number = kymo_mark_ready(t, site);
    if (kymo_unlikely(number == 0) || kymo_unlikely(site->slow & KYMO_MARK_LIMITED) ||
        kymo_unlikely(count > KYMO_MARK_RECORD_MAX / sizeof(struct kymo_record_cell) - 2))
        return 0;
    struct kymo_stream_writer *w = kymo_mark_claim_room(
        t, HEAD_BYTES + 8 + count * (uint32_t)sizeof(struct kymo_record_cell) + SLACK, frame);
    if (kymo_unlikely(!w))
        return 0;
    uint64_t clock = kymo_clock_tsc();
    uint64_t *to = (uint64_t *)(void *)((char *)w->block + w->used);
    to[2] = count;
    char *at = put_cells(cells, count, (struct kymo_record_cell *)(void *)(to + 3),
                         end_of_room(w, (const char *)to));
    return publish(t, w, to, at, clock,
                   kymo_mark_head(number, KYMO_PHASE_INSTANT | KYMO_MARK_CELLS));
}
