/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/payload.h"

#include <string.h>

kymo_err kymo_payload_add_field(kymo_payload_places *places, struct kymo_payload_image *type,
                                struct kymo_mark_layout *layout, uint32_t kind)
{
    struct kymo_mark_place place = kymo_mark_layout_next(layout, kind);
    if (!kymo_mark_kind_is_slot(kind) && kind != KYMO_KIND_TIME)
        return KYMO_OK;
    type->count++;
    return kymo_vec_push(places, place);
}

int kymo_payload_image_of(uint32_t site_kind, const struct kymo_payload_image *type, uint32_t cells,
                          struct kymo_payload_image *image)
{
    *image = (struct kymo_payload_image){.cells = cells};
    if (site_kind == KYMO_SITE_FORMAT || site_kind == KYMO_SITE_VALUES)
        return 1;
    if (site_kind == KYMO_SITE_TEXT)
        *image = (struct kymo_payload_image){.bytes = sizeof(struct kymo_text_slot), .is_text = 1};
    else if (type)
        *image = *type;
    else
        return 0;
    return cells == 0;
}

static kymo_err make_absent(struct kymo_payload *p, size_t at, uint32_t *counter)
{
    memset(p->bytes + at, 0, sizeof(struct kymo_text_slot));
    (*counter)++;
    return KYMO_OK;
}

static kymo_err check_text(struct kymo_payload *p, size_t at)
{
    struct kymo_text_slot slot;
    uint32_t unused = 0;
    int is_known;
    memcpy(&slot, p->bytes + at, sizeof slot);
    if (!(slot.flags & KYMO_TEXT_IS_THERE))
        return make_absent(p, at, &unused);
    if (slot.flags & KYMO_TEXT_IS_LITERAL) {
        KYMO_TRY(p->literal(p->context, &slot.at, &is_known));
        if (!is_known)
            return make_absent(p, at, &p->references);
        memcpy(p->bytes + at, &slot, sizeof slot);
        return KYMO_OK;
    }
    if (!kymo_payload_at(p->bytes, p->len, &slot, 1) || slot.len > p->text_left)
        return make_absent(p, at, &p->values);
    p->text_left -= slot.len;
    return KYMO_OK;
}

/* They lie in the payload. */
static kymo_err check_cells(struct kymo_payload *p, size_t at, size_t count)
{
    p->cells_from = at + count * sizeof(struct kymo_record_cell);
    for (; at < p->cells_from; at += sizeof(struct kymo_record_cell)) {
        struct kymo_record_cell cell;
        memcpy(&cell, p->bytes + at, sizeof cell);
        if (kymo_mark_kind_is_text(cell.kind)) {
            KYMO_TRY(check_text(p, at + offsetof(struct kymo_record_cell, value)));
        } else if (cell.kind != KYMO_KIND_NONE &&
                   kymo_mark_cell_form(cell.kind) == KYMO_CELL_NONE) {
            memset(p->bytes + at, 0, sizeof cell);
            p->cells++;
        }
    }
    return KYMO_OK;
}

static kymo_err check_list(struct kymo_payload *p, size_t at)
{
    struct kymo_text_slot slot;
    uint32_t unused = 0;
    memcpy(&slot, p->bytes + at, sizeof slot);
    if (!(slot.flags & KYMO_TEXT_IS_THERE))
        return make_absent(p, at, &unused);
    if (slot.at < p->cells_from ||
        !kymo_payload_at(p->bytes, p->len, &slot, sizeof(struct kymo_record_cell)))
        return make_absent(p, at, &p->values);
    return check_cells(p, slot.at, slot.len);
}

static void convert_time(struct kymo_payload *p, size_t at)
{
    uint64_t time;
    memcpy(&time, p->bytes + at, sizeof time);
    if (time && p->time_ns)
        time = p->time_ns(p->context, time);
    memcpy(p->bytes + at, &time, sizeof time);
}

kymo_err kymo_payload_check(struct kymo_payload *p, const struct kymo_payload_image *image,
                            int *fits)
{
    uint64_t image_bytes = image->bytes + (uint64_t)image->cells * sizeof(struct kymo_record_cell);
    *fits = image_bytes <= p->len;
    if (!*fits)
        return KYMO_OK;
    p->cells_from = (size_t)image_bytes;
    p->text_left = p->len - p->cells_from;
    if (image->cells)
        return check_cells(p, 0, image->cells);
    if (image->is_text)
        return check_text(p, 0);
    for (uint32_t i = 0; i < image->count; i++) {
        /* A copy: a literal may add to places. */
        struct kymo_mark_place place = p->places->data[image->first + i];
        if (place.kind == KYMO_KIND_TIME)
            convert_time(p, place.at);
        else
            KYMO_TRY(place.kind == KYMO_KIND_CELLS ? check_list(p, place.at)
                                                   : check_text(p, place.at));
    }
    return KYMO_OK;
}
