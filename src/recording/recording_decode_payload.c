/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_payload.c - payloads of markers, checked here once for all later stages.
 *
 *   image of the type's C structure        what its slots speak of
 *   ┌────────┬───────────┬────────────┐┌────────────────┬───────┬────────────┐
 *   │ number │ text slot │ cells slot ││ bytes of a text│ cells │ their texts│
 *   └────────┴───────────┴────────────┘└────────────────┴───────┴────────────┘
 *
 * Where an image has slots follows from the kinds of its fields by C's rules. Slots are written to:
 * literals get other numbers, and what leads outside is made absent. So no two of them may share a
 * byte: cells lie behind the image, and behind the cells of the field before. Texts are only read,
 * but they become as many bytes of a profile, so together they are no longer than what is there.
 */
#include <string.h>

#include "buffer/mark_field.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recording/recording_decode_event.h"

void kymo_decoder_marks_deinit(struct kymo_decoder_marks *m)
{
    kymo_id_map_deinit(&m->categories);
    kymo_id_map_deinit(&m->types);
    kymo_id_map_deinit(&m->sites);
    kymo_id_map_deinit(&m->literals);
    kymo_id_map_deinit(&m->tracks);
    kymo_id_map_deinit(&m->counters);
    kymo_vec_deinit(&m->slots);
    kymo_vec_deinit(&m->layouts);
    kymo_vec_deinit(&m->carried);
    kymo_vec_deinit(&m->fields);
    kymo_vec_deinit(&m->rows);
    kymo_vec_deinit(&m->graphs);
    kymo_vec_deinit(&m->payload);
}

static int is_text(uint32_t kind)
{
    return kind == KYMO_KIND_LITERAL || kind == KYMO_KIND_STR || kind == KYMO_KIND_TEXT ||
           kind == KYMO_KIND_UTF16;
}

kymo_err kymo_decoder_add_layout(struct kymo_decoder_marks *m, const kymo_event_marker_type *e,
                                 int *fits)
{
    size_t first = m->slots.len;
    struct kymo_mark_layout all = KYMO_MARK_LAYOUT_BEGIN;
    for (uint32_t i = 0; i < e->field_count; i++) {
        uint32_t kind = e->fields[i].kind;
        uint32_t at = kymo_mark_layout_next(&all, kind);
        if (kymo_mark_kind_is_slot(kind))
            KYMO_TRY(kymo_vec_push(&m->slots, (struct kymo_decoder_slot){
                                                  .at = at, .is_cells = kind == KYMO_KIND_CELLS}));
    }
    *fits = all.at <= e->payload_bytes && e->payload_bytes <= KYMO_FILE_PAYLOAD_MAX;
    if (!*fits) {
        m->slots.len = first;
        return KYMO_OK;
    }
    struct kymo_decoder_type layout = {
        .first_slot = (uint32_t)first,
        .slot_count = (uint32_t)(m->slots.len - first),
        .payload_bytes = e->payload_bytes,
    };
    return kymo_vec_push(&m->layouts, layout);
}

/* A payload that is being looked at. */
struct payload {
    kymo_decoder *d;
    uint32_t process;
    unsigned char *bytes;
    size_t len;
    size_t cells_from; /* the next cells begin there, or behind */
    size_t text_left;  /* bytes that texts may still have */
};

static void make_absent(struct payload *p, size_t at, uint64_t *counter)
{
    memset(p->bytes + at, 0, sizeof(struct kymo_text_slot));
    (*counter)++;
}

static void take_text(struct payload *p, size_t at)
{
    struct kymo_text_slot slot;
    memcpy(&slot, p->bytes + at, sizeof slot);
    if (!(slot.flags & KYMO_TEXT_IS_THERE))
        return;
    if (slot.flags & KYMO_TEXT_IS_LITERAL) {
        if (!kymo_id_map_find(&p->d->marks.literals, p->process, slot.at, &slot.at))
            make_absent(p, at, &p->d->damage.references);
        else
            memcpy(p->bytes + at, &slot, sizeof slot);
    } else if (slot.at > p->len || slot.len > p->len - slot.at || slot.len > p->text_left) {
        make_absent(p, at, &p->d->damage.values);
    } else {
        p->text_left -= slot.len;
    }
}

/* They lie in the payload, from cells_from on. */
static void take_cells(struct payload *p, size_t at, size_t count)
{
    for (size_t i = 0; i < count; i++, at += sizeof(struct kymo_record_cell)) {
        uint32_t kind;
        memcpy(&kind, p->bytes + at, sizeof kind);
        if (is_text(kind))
            take_text(p, at + offsetof(struct kymo_record_cell, value));
    }
    p->cells_from = at;
}

static void take_cells_slot(struct payload *p, size_t at)
{
    struct kymo_text_slot slot;
    memcpy(&slot, p->bytes + at, sizeof slot);
    if (!(slot.flags & KYMO_TEXT_IS_THERE))
        return;
    if (slot.at < p->cells_from || slot.at > p->len ||
        slot.len > (p->len - slot.at) / sizeof(struct kymo_record_cell))
        make_absent(p, at, &p->d->damage.values);
    else
        take_cells(p, slot.at, slot.len);
}

static int take_image(struct payload *p, const struct kymo_decoder_type *type)
{
    if (p->len < type->payload_bytes)
        return 0;
    p->cells_from = type->payload_bytes;
    p->text_left = p->len - type->payload_bytes;
    for (uint32_t i = 0; i < type->slot_count; i++) {
        const struct kymo_decoder_slot *slot = &p->d->marks.slots.data[type->first_slot + i];
        if (slot->is_cells)
            take_cells_slot(p, slot->at);
        else
            take_text(p, slot->at);
    }
    return 1;
}

/* 0: it is no payload of such a site. */
static int take_bytes(struct payload *p, const struct kymo_decoder_site *site, uint32_t cells)
{
    switch (site->kind) {
    case KYMO_SITE_FORMAT:
    case KYMO_SITE_VALUES:
        if (cells > p->len / sizeof(struct kymo_record_cell))
            return 0;
        p->text_left = p->len - cells * sizeof(struct kymo_record_cell);
        take_cells(p, 0, cells);
        return 1;
    case KYMO_SITE_TEXT:
        if (cells > 0 || p->len < sizeof(struct kymo_text_slot))
            return 0;
        p->text_left = p->len - sizeof(struct kymo_text_slot);
        take_text(p, 0);
        return 1;
    default:
        return cells == 0 && site->type != KYMO_EVENT_NONE &&
               take_image(p, &p->d->marks.layouts.data[site->type]);
    }
}

kymo_err kymo_decoder_take_payload(kymo_decoder *d, uint32_t process, uint32_t site,
                                   kymo_event_marker *e, int *fits)
{
    struct kymo_decoder_marks *m = &d->marks;
    if (e->payload_bytes == 0 || e->payload_bytes > KYMO_FILE_PAYLOAD_MAX) {
        *fits = e->payload_bytes == 0 && e->cells == 0;
        return KYMO_OK;
    }
    m->payload.len = 0;
    KYMO_TRY(kymo_vec_reserve(&m->payload, e->payload_bytes / sizeof(uint64_t) + 1));
    memcpy(m->payload.data, e->payload, e->payload_bytes);
    struct payload p = {
        .d = d,
        .process = process,
        .bytes = (unsigned char *)m->payload.data,
        .len = e->payload_bytes,
    };
    e->payload = p.bytes;
    *fits = take_bytes(&p, &m->carried.data[site], e->cells);
    return KYMO_OK;
}
