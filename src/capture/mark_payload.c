/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mark_payload.h"

#include <string.h>

#include "base/text_fit.h"
#include "buffer/mark_field.h"

size_t kymo_mark_text_len(const char *text, size_t max)
{
    return strnlen(text, max);
}

/* Where the next bytes go; NULL: they are only counted. */
static char *take(struct kymo_mark_pen *pen, uint32_t bytes)
{
    uint32_t at = pen->used;
    pen->used += bytes;
    return pen->room > 0 && pen->used <= pen->room ? pen->to + at : NULL;
}

static uint32_t left(const struct kymo_mark_pen *pen)
{
    return pen->used < pen->limit ? pen->limit - pen->used : 0;
}

static uint32_t text_room(const struct kymo_mark_pen *pen)
{
    uint32_t room = left(pen);
    return room < KYMO_MARK_TEXT_MAX ? room : KYMO_MARK_TEXT_MAX;
}

static struct kymo_text_slot put(struct kymo_mark_pen *pen, const void *text, uint32_t bytes,
                                 uint32_t flags)
{
    struct kymo_text_slot slot = {pen->used, (uint16_t)bytes,
                                  (uint16_t)(flags | KYMO_TEXT_IS_THERE)};
    char *to = take(pen, bytes);
    if (to)
        memcpy(to, text, bytes);
    pen->cut += (flags & KYMO_TEXT_IS_CUT) != 0;
    return slot;
}

struct kymo_text_slot kymo_mark_put_text(struct kymo_mark_pen *pen, const char *text, size_t len)
{
    if (!text)
        return (struct kymo_text_slot){0};
    size_t fit = kymo_text_fit(text, len, text_room(pen));
    return put(pen, text, (uint32_t)fit, fit < len ? KYMO_TEXT_IS_CUT : 0);
}

static struct kymo_text_slot put_string(struct kymo_mark_pen *pen, const char *text)
{
    /* One more than there is room for tells that it is longer. */
    return kymo_mark_put_text(pen, text, text ? kymo_mark_text_len(text, text_room(pen) + 1) : 0);
}

static struct kymo_text_slot put_utf16(struct kymo_mark_pen *pen,
                                       const struct kymo_mark_utf16 *text)
{
    if (!text->data)
        return (struct kymo_text_slot){0};
    size_t units = text_room(pen) / sizeof *text->data;
    size_t fit = text->len < units ? text->len : units;
    /* The first half of a pair is not left alone. */
    if (fit < text->len && fit > 0 && (text->data[fit - 1] & 0xfc00) == 0xd800)
        fit--;
    return put(pen, text->data, (uint32_t)(fit * sizeof *text->data),
               KYMO_TEXT_IS_UTF16 | (fit < text->len ? KYMO_TEXT_IS_CUT : 0));
}

static struct kymo_text_slot put_literal(struct kymo_mark_pen *pen, struct kymo_capture_process *p,
                                         const char *text)
{
    uint32_t number = text ? kymo_mark_literal(p, text) : 0;
    if (number == 0)
        return put_string(pen, text);
    return (struct kymo_text_slot){number, 0, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL};
}

/* ---- cells ---- */

static struct kymo_record_cell put_cell(struct kymo_mark_pen *pen,
                                        const struct kymo_mark_cell *cell)
{
    struct kymo_record_cell out = {.kind = cell->kind, .value = cell->as.u64};
    struct kymo_text_slot slot = {0};
    uint32_t form = kymo_mark_cell_form(cell->kind);
    if (form == KYMO_CELL_NUMBER)
        return out;
    if (form == KYMO_CELL_TEXT)
        slot = cell->kind == KYMO_KIND_STR ? put_string(pen, cell->as.ptr)
                                           : kymo_mark_put_text(pen, cell->as.ptr, cell->len);
    if (!(slot.flags & KYMO_TEXT_IS_THERE))
        return (struct kymo_record_cell){0};
    out.kind = KYMO_KIND_TEXT;
    memcpy(&out.value, &slot, sizeof slot);
    return out;
}

uint32_t kymo_mark_put_cells(struct kymo_mark_pen *pen, const struct kymo_mark_cell *cells,
                             size_t count, uint32_t *at)
{
    struct kymo_record_cell out;
    uint32_t pad = -pen->used & 7u;
    char *to = take(pen, pad);
    if (to && pad)
        memset(to, 0, pad);
    size_t room = left(pen) / sizeof out;
    uint32_t n = (uint32_t)(count < room ? count : room);
    *at = pen->used;
    to = take(pen, n * (uint32_t)sizeof out);
    for (uint32_t i = 0; i < n; i++) {
        out = put_cell(pen, &cells[i]);
        if (to)
            memcpy(to + i * sizeof out, &out, sizeof out);
    }
    return n;
}

static struct kymo_text_slot put_list(struct kymo_mark_pen *pen,
                                      const struct kymo_mark_cells *cells)
{
    struct kymo_text_slot slot = {0};
    if (!cells->data)
        return slot;
    slot.len = (uint16_t)kymo_mark_put_cells(pen, cells->data, cells->count, &slot.at);
    slot.flags = KYMO_TEXT_IS_THERE;
    if (slot.len < cells->count) {
        slot.flags |= KYMO_TEXT_IS_CUT;
        pen->cut++;
    }
    return slot;
}

/* ---- images ---- */

/* A payload has the alignment of its fields. */
static struct kymo_text_slot put_slot(struct kymo_mark_pen *pen, struct kymo_capture_process *p,
                                      uint32_t kind, const void *from)
{
    const struct kymo_mark_text *text = from;
    switch (kind) {
    case KYMO_KIND_LITERAL:
        return put_literal(pen, p, ((const struct kymo_mark_literal *)from)->text);
    case KYMO_KIND_STR:
        return put_string(pen, *(const char *const *)from);
    case KYMO_KIND_TEXT:
        return kymo_mark_put_text(pen, text->data, text->len);
    case KYMO_KIND_UTF16:
        return put_utf16(pen, from);
    default:
        return put_list(pen, from);
    }
}

/* Of the sizes that fields have: a call of memcpy takes longer than all this. */
KYMO_INLINE void copy_number(char *to, const char *from, uint32_t bytes)
{
    switch (bytes) {
    case 1:
        *to = *from;
        return;
    case 2:
        memcpy(to, from, 2);
        return;
    case 4:
        memcpy(to, from, 4);
        return;
    case 8:
        memcpy(to, from, 8);
        return;
    default:
        memcpy(to, from, 16);
        return;
    }
}

static void put_fields(struct kymo_mark_pen *pen, struct kymo_capture_process *p,
                       const struct kymo_mark_type *type, const char *from)
{
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    uint32_t bytes = (type->payload_bytes + 7) & ~7u;
    uint32_t count = type->field_count;
    char *to = take(pen, bytes);
    for (uint32_t i = 0; to && i < bytes; i += 8)
        memset(to + i, 0, 8);
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_mark_place f =
            kymo_mark_layout_next(&layout, kymo_mark_field_at(type, i)->kind);
        if (kymo_mark_kind_is_slot(f.kind)) {
            struct kymo_text_slot slot = put_slot(pen, p, f.kind, from + f.at);
            if (to)
                memcpy(to + f.at, &slot, sizeof slot);
        } else if (to) {
            copy_number(to + f.at, from + f.at, kymo_mark_kind_bytes(f.kind));
        }
    }
}

void kymo_mark_put_payload(struct kymo_mark_pen *pen, struct kymo_capture_process *p,
                           const struct kymo_mark_site *site, const void *payload)
{
    /* Cells come by a call of their own. */
    if (!payload || site->kind > KYMO_SITE_TEXT)
        return;
    if (site->kind == KYMO_SITE_TEXT) {
        struct kymo_mark_text text;
        struct kymo_text_slot slot;
        char *to = take(pen, sizeof slot);
        memcpy(&text, payload, sizeof text);
        slot = kymo_mark_put_text(pen, text.data, text.len);
        if (to)
            memcpy(to, &slot, sizeof slot);
    } else if (site->slow & (KYMO_MARK_BY_FIELD | KYMO_MARK_TEXTS)) {
        put_fields(pen, p, site->type, payload);
    } else {
        char *to = take(pen, site->words * 8);
        if (to)
            memcpy(to, payload, (size_t)site->words * 8);
    }
}
