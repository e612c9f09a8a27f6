/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_values.c - values of events and constants, as the description says that they lie.
 *
 * Structures are at most KYMO_JFR_CLASS_DEPTH_MAX deep, and one without bytes is never walked. So
 * each step of a loop takes a byte at least, and the work is bounded by the length of the data.
 */
#include <string.h>

#include "base/str.h"
#include "import/jfr/read_jfr.h"

enum {
    ENCODING_NULL = 0,
    ENCODING_EMPTY = 1,
    ENCODING_CONSTANT = 2,
    ENCODING_UTF8 = 3,
    ENCODING_UTF16 = 4, /* each unit a varint */
    ENCODING_LATIN1 = 5,
};

/* ---- strings ---- */

struct string {
    unsigned encoding;
    uint64_t key;
    const unsigned char *at;
    uint64_t len; /* bytes; of UTF-16, too */
};

static struct string read_string(kymo_reader *in)
{
    struct string s = {.encoding = kymo_read_u8(in)};
    uint64_t count;
    switch (s.encoding) {
    case ENCODING_NULL:
    case ENCODING_EMPTY:
        break;
    case ENCODING_CONSTANT:
        s.key = kymo_jfr_read_varint(in);
        break;
    case ENCODING_UTF8:
    case ENCODING_LATIN1:
        s.len = kymo_jfr_read_varint(in);
        s.at = kymo_read_bytes(in, s.len);
        break;
    case ENCODING_UTF16:
        count = kymo_jfr_read_varint(in);
        s.at = in->at;
        for (; count > 0 && !in->failed; count--)
            kymo_jfr_read_varint(in);
        s.len = (uint64_t)(in->at - s.at);
        break;
    default:
        kymo_reader_fail(in);
    }
    return s;
}

static int is_ascii(const unsigned char *at, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++)
        if (at[i] >= 0x80)
            return 0;
    return 1;
}

static uint32_t next_unit(kymo_reader *in, unsigned encoding)
{
    return encoding == ENCODING_LATIN1 ? kymo_read_u8(in) : (uint32_t)kymo_jfr_read_varint(in);
}

/* A unit that is half a pair is joined with the other half. */
static uint32_t next_character(kymo_reader *in, unsigned encoding)
{
    uint32_t high = next_unit(in, encoding);
    if (encoding == ENCODING_LATIN1 || high < 0xd800 || high > 0xdbff)
        return high;
    kymo_reader ahead = *in;
    uint32_t low = next_unit(&ahead, encoding);
    if (low < 0xdc00 || low > 0xdfff)
        return high;
    *in = ahead;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Into r->text, cut where a string of a profile would be. */
static size_t decode(struct kymo_jfr_reader *r, const struct string *s)
{
    kymo_reader in = kymo_reader_of(s->at, s->len);
    size_t len = 0;
    while (in.at < in.end && len < KYMO_STRING_MAX)
        len += kymo_utf8_encode(r->text + len, next_character(&in, s->encoding));
    return len;
}

/* How often one constant may refer to another. */
enum { LINKS_MAX = 4 };

static kymo_err constant_text(struct kymo_jfr_reader *r, uint32_t class_at, uint64_t key,
                              unsigned links, kymo_jfr_text *text);

static kymo_err string_text(struct kymo_jfr_reader *r, const struct string *s, unsigned links,
                            kymo_jfr_text *text)
{
    *text = (kymo_jfr_text){.data = ""};
    if (s->encoding == ENCODING_CONSTANT)
        return constant_text(r, r->part.pools[KYMO_JFR_STRINGS].class_at, s->key, links, text);
    if (!s->at)
        return KYMO_OK;
    if (s->encoding == ENCODING_UTF8 || is_ascii(s->at, s->len))
        *text = (kymo_jfr_text){(const char *)s->at, (size_t)s->len};
    else
        *text = (kymo_jfr_text){r->text, decode(r, s)};
    return KYMO_OK;
}

void kymo_jfr_read_text(struct kymo_jfr_reader *r, kymo_reader *in, kymo_jfr_text *text)
{
    struct string s = read_string(in);
    if (s.encoding == ENCODING_CONSTANT || string_text(r, &s, 0, text) != KYMO_OK)
        *text = (kymo_jfr_text){.data = ""};
}

/* ---- skipping ---- */

static void skip_class(const kymo_jfr_part *part, kymo_reader *in, uint32_t class_at);

static void skip_each(const kymo_jfr_part *part, kymo_reader *in, uint32_t class_at, uint64_t count)
{
    switch (part->classes[class_at].shape) {
    case KYMO_JFR_SHAPE_EMPTY:
        return;
    case KYMO_JFR_SHAPE_BYTE:
        kymo_reader_skip(in, count);
        return;
    case KYMO_JFR_SHAPE_FLOAT:
    case KYMO_JFR_SHAPE_DOUBLE:
        if (kymo_reader_has(in, count))
            kymo_reader_skip(
                in, count * (part->classes[class_at].shape == KYMO_JFR_SHAPE_FLOAT ? 4 : 8));
        return;
    case KYMO_JFR_SHAPE_VARINT:
        for (; count > 0 && !in->failed; count--)
            kymo_jfr_read_varint(in);
        return;
    case KYMO_JFR_SHAPE_STRING:
        for (; count > 0 && !in->failed; count--)
            read_string(in);
        return;
    case KYMO_JFR_SHAPE_STRUCT:
        for (; count > 0 && !in->failed; count--)
            skip_class(part, in, class_at);
        return;
    default:
        kymo_reader_fail(in);
    }
}

static void skip_member(const kymo_jfr_part *part, kymo_reader *in, const kymo_jfr_member *m)
{
    uint64_t count = m->is_array ? kymo_jfr_read_varint(in) : 1;
    if (m->is_pool)
        for (; count > 0 && !in->failed; count--)
            kymo_jfr_read_varint(in);
    else if (m->class_at != KYMO_NONE)
        skip_each(part, in, m->class_at, count);
    else
        kymo_reader_fail(in);
}

static void skip_class(const kymo_jfr_part *part, kymo_reader *in, uint32_t class_at)
{
    const kymo_jfr_class *class = &part->classes[class_at];
    for (uint32_t i = 0; i < class->member_count && !in->failed; i++)
        skip_member(part, in, &part->members[class->first_member + i]);
}

void kymo_jfr_skip_value(const kymo_jfr_part *part, kymo_reader *in, uint32_t class_at)
{
    skip_each(part, in, class_at, 1);
}

/* ---- rows ---- */

static double read_real(kymo_reader *in, unsigned shape)
{
    uint64_t bits;
    uint32_t half;
    double value;
    float small;
    if (shape == KYMO_JFR_SHAPE_DOUBLE) {
        bits = kymo_jfr_read_u64(in);
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    half = kymo_jfr_read_u32(in);
    memcpy(&small, &half, sizeof small);
    return small;
}

/* 0: the value is of no kind that a cell holds, and was skipped. */
static int read_cell(const kymo_jfr_part *part, kymo_reader *in, const kymo_jfr_member *m,
                     kymo_jfr_cell *cell)
{
    unsigned shape =
        m->class_at == KYMO_NONE ? KYMO_JFR_SHAPE_UNKNOWN : part->classes[m->class_at].shape;
    *cell = (kymo_jfr_cell){.member = m, .at = in->at};
    if (m->is_array) {
        cell->kind = KYMO_JFR_CELL_ARRAY;
        skip_member(part, in, m);
    } else if (m->is_pool) {
        cell->kind = KYMO_JFR_CELL_POOL;
        cell->number = kymo_jfr_read_varint(in);
    } else if (shape == KYMO_JFR_SHAPE_BYTE || shape == KYMO_JFR_SHAPE_VARINT) {
        cell->kind = KYMO_JFR_CELL_NUMBER;
        cell->number = shape == KYMO_JFR_SHAPE_BYTE ? kymo_read_u8(in) : kymo_jfr_read_varint(in);
    } else if (shape == KYMO_JFR_SHAPE_FLOAT || shape == KYMO_JFR_SHAPE_DOUBLE) {
        cell->kind = KYMO_JFR_CELL_REAL;
        cell->real = read_real(in, shape);
    } else {
        cell->kind = KYMO_JFR_CELL_TEXT;
        skip_member(part, in, m);
        return shape == KYMO_JFR_SHAPE_STRING;
    }
    return 1;
}

void kymo_jfr_read_row(const struct kymo_jfr_reader *r, kymo_reader *in, uint32_t class_at,
                       kymo_jfr_row *row)
{
    const kymo_jfr_part *part = &r->part;
    const kymo_jfr_class *class = &part->classes[class_at];
    row->has = 0;
    row->position = kymo_jfr_place(r, in->at);
    for (uint32_t i = 0; i < class->member_count && !in->failed; i++) {
        const kymo_jfr_member *m = &part->members[class->first_member + i];
        if (m->role == KYMO_JFR_ROLE_NONE)
            skip_member(part, in, m);
        else if (read_cell(part, in, m, &row->cells[m->role]))
            row->has |= 1ull << m->role;
    }
}

uint64_t kymo_jfr_number(const kymo_jfr_row *row, kymo_jfr_role role)
{
    const kymo_jfr_cell *cell = &row->cells[role];
    int is_number = cell->kind == KYMO_JFR_CELL_NUMBER || cell->kind == KYMO_JFR_CELL_POOL;
    return kymo_jfr_has(row, role) && is_number ? cell->number : 0;
}

double kymo_jfr_real(const kymo_jfr_row *row, kymo_jfr_role role)
{
    const kymo_jfr_cell *cell = &row->cells[role];
    return kymo_jfr_has(row, role) && cell->kind == KYMO_JFR_CELL_REAL ? cell->real : 0;
}

/* ---- texts of rows ---- */

static kymo_err cell_text(struct kymo_jfr_reader *r, const kymo_jfr_cell *cell, unsigned links,
                          kymo_jfr_text *text)
{
    *text = (kymo_jfr_text){.data = ""};
    if (cell->kind == KYMO_JFR_CELL_POOL)
        return constant_text(r, cell->member->class_at, cell->number, links, text);
    if (cell->kind != KYMO_JFR_CELL_TEXT)
        return KYMO_OK;
    kymo_reader in = kymo_jfr_reader_at(r, cell->at);
    struct string s = read_string(&in);
    return string_text(r, &s, links, text);
}

/* A constant is a string, or a structure that has one. */
static kymo_err constant_text(struct kymo_jfr_reader *r, uint32_t class_at, uint64_t key,
                              unsigned links, kymo_jfr_text *text)
{
    static const kymo_jfr_role roles[] = {KYMO_JFR_ROLE_STRING, KYMO_JFR_ROLE_DESCRIPTION,
                                          KYMO_JFR_ROLE_NAME};
    kymo_jfr_row row;
    *text = (kymo_jfr_text){.data = ""};
    if (class_at == KYMO_NONE || links == LINKS_MAX)
        return KYMO_OK;
    const kymo_jfr_class *class = &r->part.classes[class_at];
    const kymo_jfr_constant *constant = kymo_jfr_find_constant(r, class->pool, key);
    if (!constant)
        return KYMO_OK;
    kymo_reader in = kymo_jfr_reader_at(r, (const unsigned char *)r->d->data + constant->at);
    if (class->shape == KYMO_JFR_SHAPE_STRING) {
        struct string s = read_string(&in);
        return string_text(r, &s, links + 1, text);
    }
    kymo_jfr_read_row(r, &in, class_at, &row);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(roles); i++)
        if (kymo_jfr_has(&row, roles[i]))
            return cell_text(r, &row.cells[roles[i]], links + 1, text);
    return KYMO_OK;
}

kymo_err kymo_jfr_row_text(struct kymo_jfr_reader *r, const kymo_jfr_row *row, kymo_jfr_role role,
                           kymo_jfr_text *text)
{
    *text = (kymo_jfr_text){.data = ""};
    return kymo_jfr_has(row, role) ? cell_text(r, &row->cells[role], 0, text) : KYMO_OK;
}

kymo_err kymo_jfr_row_string(struct kymo_jfr_reader *r, const kymo_jfr_row *row, kymo_jfr_role role,
                             uint32_t *string)
{
    kymo_jfr_text text;
    KYMO_TRY(kymo_jfr_row_text(r, row, role, &text));
    return kymo_import_string(r->d, text.data, text.len, string);
}

kymo_err kymo_jfr_constant_text(struct kymo_jfr_reader *r, kymo_jfr_pool_kind pool, uint64_t key,
                                kymo_jfr_text *text)
{
    return constant_text(r, r->part.pools[pool].class_at, key, 0, text);
}
