/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_payload.c - the payload of a marker becomes values.
 *
 * buffer/payload.h describes the layout. A reference that leads outside of the payload gives an
 * absent value.
 */
#include "profile/ingest_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "base/str.h"
#include "buffer/payload.h"
#include "kymo/marker_abi.h"
#include "profile/mark_format.h"

/* Room for the ellipsis of a text that was cut. */
#define TEXT_MAX (KYMO_STRING_MAX - sizeof KYMO_TEXT_CUT)
/* Bytes of a formatted text: about what a record can carry. A format may make a long text of a
 * short record. */
#define FORMATTED_MAX 4096u

struct payload {
    const uint8_t *bytes;
    size_t len;
};

/* ---- texts ---- */

/* Adds a text; one that was cut ends with an ellipsis, after a whole character. */
static kymo_err add_text(kymo_ingest *in, const char *text, size_t len, int is_cut,
                         uint32_t *string)
{
    char marked[KYMO_STRING_MAX];
    if (!is_cut && len <= KYMO_STRING_MAX)
        return kymo_ingest_add_text(in, text, len, string);
    if (len > TEXT_MAX)
        len = TEXT_MAX;
    size_t valid = kymo_utf8_valid_prefix(text, len);
    if (len - valid < 4)
        len = valid;
    memcpy(marked, text, len);
    memcpy(marked + len, KYMO_TEXT_CUT, sizeof KYMO_TEXT_CUT - 1);
    return kymo_ingest_add_text(in, marked, len + sizeof KYMO_TEXT_CUT - 1, string);
}

static uint16_t load_unit(const uint8_t *at)
{
    uint16_t unit;
    memcpy(&unit, at, sizeof unit);
    return unit;
}

/* Adds UTF-16 text. Half of a surrogate pair alone becomes U+FFFD. */
static kymo_err add_utf16(kymo_ingest *in, const uint8_t *bytes, size_t len, int is_cut,
                          uint32_t *string)
{
    char text[KYMO_STRING_MAX];
    size_t written = 0;
    size_t i = 0;
    for (; i + 2 <= len && written + 4 <= TEXT_MAX; i += 2) {
        uint32_t code = load_unit(bytes + i);
        uint32_t second = i + 4 <= len ? load_unit(bytes + i + 2) : 0;
        if (code >= 0xd800 && code < 0xdc00 && second >= 0xdc00 && second < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
            i += 2;
        }
        written += kymo_utf8_encode(text + written, code);
    }
    return add_text(in, text, written, is_cut || i + 2 <= len, string);
}

static kymo_err read_text(kymo_ingest *in, const struct payload *p,
                          const struct kymo_text_slot *slot, kymo_value *value)
{
    const uint8_t *bytes = kymo_payload_at(p->bytes, p->len, slot, 1);
    int is_cut = (slot->flags & KYMO_TEXT_IS_CUT) != 0;
    *value = (kymo_value){.kind = KYMO_VALUE_NONE};
    if ((slot->flags & KYMO_TEXT_IS_THERE) && (slot->flags & KYMO_TEXT_IS_LITERAL) &&
        slot->at < in->marks.literals.len) {
        value->as.string = in->marks.literals.data[slot->at];
    } else if (!bytes) {
        return KYMO_OK;
    } else if (slot->flags & KYMO_TEXT_IS_UTF16) {
        KYMO_TRY(add_utf16(in, bytes, slot->len, is_cut, &value->as.string));
    } else {
        KYMO_TRY(add_text(in, (const char *)bytes, slot->len, is_cut, &value->as.string));
    }
    value->kind = KYMO_VALUE_STRING;
    return KYMO_OK;
}

/* ---- lists ---- */

static struct kymo_record_cell load_cell(const struct payload *p, size_t at)
{
    struct kymo_record_cell cell;
    memcpy(&cell, p->bytes + at, sizeof cell);
    return cell;
}

static kymo_err read_cell(kymo_ingest *in, const struct payload *p,
                          const struct kymo_record_cell *cell, kymo_value *value)
{
    struct kymo_text_slot slot;
    uint32_t form = kymo_mark_cell_form(cell->kind);
    *value = (kymo_value){.kind = KYMO_VALUE_NONE};
    if (form == KYMO_CELL_TEXT) {
        memcpy(&slot, &cell->value, sizeof slot);
        return read_text(in, p, &slot, value);
    }
    if (form == KYMO_CELL_NUMBER)
        *value = (kymo_value){.kind = kymo_mark_kind(cell->kind)->value, .as.u64 = cell->value};
    return KYMO_OK;
}

/* Reads `count` cells from `at` on into scratch, as far as they are inside the payload. */
static kymo_err read_cells(kymo_ingest *in, const struct payload *p, size_t at, size_t count)
{
    in->marks.cells.len = 0;
    if (at > p->len)
        return KYMO_OK;
    if (count > (p->len - at) / sizeof(struct kymo_record_cell))
        count = (p->len - at) / sizeof(struct kymo_record_cell);
    for (size_t i = 0; i < count; i++, at += sizeof(struct kymo_record_cell)) {
        struct kymo_record_cell cell = load_cell(p, at);
        kymo_value value;
        KYMO_TRY(read_cell(in, p, &cell, &value));
        KYMO_TRY(kymo_vec_push(&in->marks.cells, value));
    }
    return KYMO_OK;
}

static kymo_err read_list(kymo_ingest *in, const struct payload *p,
                          const struct kymo_text_slot *slot, kymo_value *value)
{
    uint32_t first;
    if (!(slot->flags & KYMO_TEXT_IS_THERE))
        return KYMO_OK;
    KYMO_TRY(read_cells(in, p, slot->at, slot->len));
    uint32_t count = (uint32_t)in->marks.cells.len;
    KYMO_TRY(kymo_profile_add_values(in->profile, in->marks.cells.data, count, &first));
    *value = (kymo_value){.kind = KYMO_VALUE_LIST, .as.list = {first, count}};
    return KYMO_OK;
}

/* ---- fields ---- */

/* A number, or a reference of the same size. An OPT has a flag after the number. */
static kymo_value read_number(uint32_t kind, const uint8_t *at)
{
    const struct kymo_mark_kind_facts *facts = kymo_mark_kind(kind);
    unsigned bytes = facts->bytes < 8 ? facts->bytes : 8;
    kymo_reader r = kymo_reader_of(at, facts->bytes);
    kymo_value value = {.kind = facts->value};
    float f32;
    if (value.kind == KYMO_VALUE_I64 || value.kind == KYMO_VALUE_NS)
        value.as.i64 = kymo_read_int(&r, bytes);
    else
        value.as.u64 = kymo_read_uint(&r, bytes);
    if (kind == KYMO_KIND_F32) {
        memcpy(&f32, at, sizeof f32);
        value.as.f64 = (double)f32;
    }
    if (kind == KYMO_KIND_BOOL)
        value.as.u64 = value.as.u64 != 0;
    int is_there = facts->bytes > 8
                       ? kymo_read_u64(&r) != 0
                       : value.as.u64 != 0 || (kind != KYMO_KIND_TIME && kind != KYMO_KIND_FLOW);
    return is_there ? value : (kymo_value){.kind = KYMO_VALUE_NONE};
}

/* value: the caller has set it to absent. */
static kymo_err read_field(kymo_ingest *in, const struct payload *p, struct kymo_mark_place field,
                           kymo_value *value)
{
    struct kymo_text_slot slot;
    uint32_t size = kymo_mark_kind_bytes(field.kind);
    if (field.at > p->len || size > p->len - field.at)
        return KYMO_OK;
    memcpy(&slot, p->bytes + field.at, kymo_mark_kind_is_slot(field.kind) ? sizeof slot : 0);
    if (kymo_mark_kind_is_text(field.kind))
        return read_text(in, p, &slot, value);
    if (field.kind == KYMO_KIND_CELLS)
        return read_list(in, p, &slot, value);
    *value = read_number(field.kind, p->bytes + field.at);
    return KYMO_OK;
}

static kymo_err read_image(kymo_ingest *in, const struct payload *p, uint32_t number)
{
    struct kymo_ingest_marks *m = &in->marks;
    const struct kymo_ingest_type type = m->types.data[number];
    for (uint32_t i = 0; i < type.field_count; i++) {
        kymo_value value = {.kind = KYMO_VALUE_NONE};
        KYMO_TRY(read_field(in, p, m->fields.data[type.first_field + i], &value));
        KYMO_TRY(kymo_vec_push(&m->values, value));
    }
    return KYMO_OK;
}

/* ---- markers without a type ---- */

static struct kymo_format_arg format_arg(const struct payload *p,
                                         const struct kymo_record_cell *cell)
{
    struct kymo_format_arg arg = {.kind = KYMO_VALUE_NONE};
    struct kymo_text_slot slot;
    uint32_t form = kymo_mark_cell_form(cell->kind);
    memcpy(&slot, &cell->value, sizeof slot);
    if (form == KYMO_CELL_TEXT)
        arg.as.text = (const char *)kymo_payload_at(p->bytes, p->len, &slot, 1);
    if (form == KYMO_CELL_NUMBER) {
        arg.kind = kymo_mark_kind(cell->kind)->value;
        arg.as.u64 = cell->value;
    } else if (arg.as.text) {
        arg.kind = KYMO_VALUE_STRING;
        arg.len = slot.len;
        arg.is_cut = (slot.flags & KYMO_TEXT_IS_CUT) != 0;
    }
    return arg;
}

static kymo_err format_text(kymo_ingest *in, const struct kymo_ingest_site *site,
                            const struct payload *p, uint32_t cells, uint32_t *string)
{
    struct kymo_format_arg args[KYMO_FORMAT_ARGS_MAX];
    char text[FORMATTED_MAX];
    int is_cut;
    if (cells > p->len / sizeof(struct kymo_record_cell))
        cells = (uint32_t)(p->len / sizeof(struct kymo_record_cell));
    if (cells > KYMO_FORMAT_ARGS_MAX)
        cells = KYMO_FORMAT_ARGS_MAX;
    for (uint32_t i = 0; i < cells; i++) {
        struct kymo_record_cell cell = load_cell(p, i * sizeof cell);
        args[i] = format_arg(p, &cell);
    }
    size_t len =
        kymo_mark_format(text, sizeof text, site->format ? site->format : "", args, cells, &is_cut);
    return add_text(in, text, len, is_cut, string);
}

static kymo_err read_format(kymo_ingest *in, struct kymo_ingest_site *site, const struct payload *p,
                            uint32_t cells)
{
    kymo_value value = {.kind = KYMO_VALUE_STRING};
    if (cells > 0) {
        KYMO_TRY(format_text(in, site, p, cells, &value.as.string));
    } else {
        if (site->text == KYMO_NONE)
            KYMO_TRY(format_text(in, site, p, 0, &site->text));
        value.as.string = site->text;
    }
    return kymo_vec_push(&in->marks.values, value);
}

/* The first marker of a site gives the kinds of the values. */
static kymo_err read_values(kymo_ingest *in, struct kymo_ingest_site *site, const struct payload *p,
                            uint32_t cells)
{
    struct kymo_ingest_marks *m = &in->marks;
    KYMO_TRY(read_cells(in, p, 0, cells));
    if (m->cells.len == 0)
        return KYMO_OK;
    if (site->schema == KYMO_NONE)
        KYMO_TRY(kymo_ingest_values_schema(in, site, m->cells.data, (uint32_t)m->cells.len,
                                           &site->schema));
    uint32_t count = kymo_profile_schema(in->profile, site->schema)->field_count;
    for (uint32_t i = 0; i < count; i++) {
        kymo_value value = {.kind = KYMO_VALUE_NONE};
        if (i < m->cells.len)
            value = m->cells.data[i];
        KYMO_TRY(kymo_vec_push(&m->values, value));
    }
    return KYMO_OK;
}

static kymo_err read_lone_text(kymo_ingest *in, const struct payload *p)
{
    struct kymo_text_slot slot;
    kymo_value value;
    memcpy(&slot, p->bytes, sizeof slot);
    KYMO_TRY(read_text(in, p, &slot, &value));
    return kymo_vec_push(&in->marks.values, value);
}

kymo_err kymo_ingest_read_payload(kymo_ingest *in, struct kymo_ingest_site *site,
                                  const kymo_event_marker *e)
{
    const struct payload p = {e->payload, e->payload ? e->payload_bytes : 0};
    in->marks.values.len = 0;
    if (site->type != KYMO_NONE)
        return p.len ? read_image(in, &p, site->type) : KYMO_OK;
    if (site->kind == KYMO_SITE_VALUES)
        return read_values(in, site, &p, e->cells);
    int is_format = site->kind == KYMO_SITE_FORMAT;
    if (!is_format && p.len < sizeof(struct kymo_text_slot))
        return KYMO_OK;
    if (site->schema == KYMO_NONE)
        KYMO_TRY(kymo_ingest_text_schema(in, &site->schema));
    return is_format ? read_format(in, site, &p, e->cells) : read_lone_text(in, &p);
}
