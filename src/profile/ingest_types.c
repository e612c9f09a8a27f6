/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_types.c - categories and types of markers become those of the profile.
 *
 * libkymo refuses types that make no sense when they are declared. A file may contain anything, so
 * here it is corrected: encoders get keys that are unique, formats that can show their values, and
 * labels that refer only to existing fields.
 *
 * Two libraries may declare types of the same name. With the same fields they become one type,
 * shown as it was declared first: a front-end finds a type by its name, and would separate the
 * markers of two versions of a plugin if their descriptions differ. With different fields they are
 * two types.
 */
#include "profile/ingest_state.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "buffer/mark_field.h"
#include "kymo/marker_abi.h"
#include "profile/tables.h"

kymo_err kymo_ingest_on_marker_category(void *ctx, const kymo_event_marker_category *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_marks *m = &in->marks;
    kymo_marker_category row = {.size = sizeof row,
                                .parent = KYMO_NONE,
                                .color = e->color < KYMO_COLOR_COUNT ? e->color : 0};
    uint32_t id = KYMO_NONE;
    if (e->category != m->categories.len || e->process >= in->processes.len ||
        (e->parent != KYMO_EVENT_NONE && e->parent >= m->categories.len))
        return KYMO_E_INVALID;
    if (e->parent != KYMO_EVENT_NONE)
        row.parent = m->categories.data[e->parent];
    KYMO_TRY(kymo_ingest_add_string(in, e->name, &row.name));
    KYMO_TRY(kymo_ingest_leave_out(in, KYMO_INGEST_DEFINITIONS,
                                   kymo_profile_add_marker_category(in->profile, &row, &id)));
    return kymo_vec_push(&m->categories, id);
}

/* ---- formats ---- */

/* The requested format if it can show values of this kind; else the default of the kind. */
static uint16_t format_of(uint32_t kind, uint32_t asked)
{
    const struct kymo_mark_kind_facts *facts = kymo_mark_kind(kind);
    if (asked < KYMO_FORMAT_COUNT && (facts->formats & 1u << asked))
        return (uint16_t)asked;
    return facts->format;
}

/* ---- fields ---- */

kymo_err kymo_ingest_make_key(kymo_ingest *in, const char *asked, const kymo_schema_field *fields,
                              uint32_t count, uint32_t *key)
{
    char text[KYMO_INGEST_KEY_MAX + 16];
    KYMO_TRY(kymo_ingest_add_string(in, asked && *asked ? asked : "value", key));
    for (uint32_t n = count + 1, i = 0; i < count; i++) {
        if (fields[i].key != *key)
            continue;
        size_t len = kymo_utf8_copy(text, KYMO_INGEST_KEY_MAX, asked ? asked : "",
                                    asked ? strlen(asked) : 0);
        snprintf(text + len, sizeof text - len, "_%u", n++);
        KYMO_TRY(kymo_ingest_add_string(in, text, key));
        i = UINT32_MAX; /* start again: an earlier field may have this key, too */
    }
    return KYMO_OK;
}

/* "Rows|Name:string|Size:bytes" is the label of a table, and its columns. */
static kymo_err split_label(kymo_ingest *in, const char *label, kymo_schema_field *field)
{
    const char *bar = label && field->format == KYMO_FORMAT_TABLE ? strchr(label, '|') : NULL;
    if (!bar)
        return kymo_ingest_add_string(in, label, &field->label);
    KYMO_TRY(kymo_ingest_add_string(in, bar + 1, &field->columns));
    return kymo_profile_add_string(in->profile, label, (size_t)(bar - label), &field->label);
}

static kymo_err note_format(kymo_ingest *in, const kymo_event_marker_type *e,
                            const kymo_event_marker_field *f)
{
    char note[640], name[KYMO_INGEST_QUOTE], file[KYMO_INGEST_QUOTE], key[KYMO_INGEST_QUOTE];
    snprintf(note, sizeof note,
             "markers \"%s\" (%s:%u): the field \"%s\" cannot be shown in the format that it has, "
             "and is shown as its kind is; doc/markers.md says which formats fit",
             kymo_ingest_quote(e->name, name),
             kymo_ingest_quote(e->file && *e->file ? e->file : "?", file), e->line,
             kymo_ingest_quote(f->key, key));
    return kymo_ingest_add_note(in, 0, e->process, KYMO_NOTE_WARNING, note);
}

static kymo_err make_fields(kymo_ingest *in, const kymo_event_marker_type *e,
                            struct kymo_ingest_type *type, kymo_schema_field *fields)
{
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    type->first_field = (uint32_t)in->marks.fields.len;
    type->field_count = e->field_count;
    for (uint32_t i = 0; i < e->field_count; i++) {
        const kymo_event_marker_field *f = &e->fields[i];
        if (!kymo_mark_kind_bytes(f->kind))
            return KYMO_E_INVALID;
        fields[i] = (kymo_schema_field){.format = format_of(f->kind, f->format),
                                        .flags = (uint16_t)f->flags};
        if (f->format != KYMO_FORMAT_NONE && f->format != fields[i].format)
            KYMO_TRY(note_format(in, e, f));
        KYMO_TRY(kymo_ingest_make_key(in, f->key, fields, i, &fields[i].key));
        KYMO_TRY(split_label(in, f->label, &fields[i]));
        KYMO_TRY(kymo_vec_push(&in->marks.fields, kymo_mark_layout_next(&layout, f->kind)));
    }
    return KYMO_OK;
}

static int has_key(const kymo_ingest *in, const kymo_schema *schema, const char *key, size_t len)
{
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (kymo_profile_string_len(in->profile, schema->fields[i].key) == len &&
            memcmp(kymo_profile_string(in->profile, schema->fields[i].key), key, len) == 0)
            return 1;
    return 0;
}

/* ---- labels ---- */

/* Whether the name in braces exists: {marker.data.KEY}, {marker.data.KEY ? 'a' : 'b'}, or the
 * name, start, end, duration or category of the marker. */
static int is_label(const kymo_ingest *in, const kymo_schema *schema, const char *text)
{
    static const char data[] = "{marker.data.";
    static const char *const known[] = {"{marker.name}", "{marker.start}", "{marker.end}",
                                        "{marker.duration}", "{marker.category}"};
    while ((text = strchr(text, '{')) != NULL) {
        int is_known = 0;
        if (kymo_str_starts(text, data)) {
            const char *key = text + sizeof data - 1;
            size_t len = strcspn(key, " ?}");
            is_known = key[strcspn(key, "}")] != '\0' && has_key(in, schema, key, len);
        }
        for (size_t i = 0; i < KYMO_ARRAY_LEN(known); i++)
            is_known |= kymo_str_starts(text, known[i]);
        if (!is_known)
            return 0;
        text++;
    }
    return 1;
}

/* Adds a label unless it names missing fields: the viewer's default is better than an error. */
static kymo_err add_label(kymo_ingest *in, const kymo_event_marker_type *e,
                          const kymo_schema *schema, const char *text, uint32_t *label)
{
    char note[512], name[KYMO_INGEST_QUOTE], quoted[KYMO_INGEST_QUOTE];
    *label = 0;
    if (!text || is_label(in, schema, text))
        return kymo_ingest_add_string(in, text, label);
    snprintf(note, sizeof note,
             "markers \"%s\": the label \"%s\" names what they do not have, and is left out",
             kymo_ingest_quote(e->name, name), kymo_ingest_quote(text, quoted));
    return kymo_ingest_add_note(in, 0, e->process, KYMO_NOTE_WARNING, note);
}

static kymo_err add_texts(kymo_ingest *in, const kymo_event_marker_type *e, kymo_schema *schema)
{
    KYMO_TRY(kymo_ingest_add_string(in, e->name, &schema->name));
    KYMO_TRY(kymo_ingest_add_string(in, e->description, &schema->description));
    KYMO_TRY(add_label(in, e, schema, e->chart, &schema->chart));
    KYMO_TRY(add_label(in, e, schema, e->tooltip, &schema->tooltip));
    KYMO_TRY(add_label(in, e, schema, e->table, &schema->table));
    if (e->color_key && has_key(in, schema, e->color_key, strlen(e->color_key)))
        KYMO_TRY(kymo_ingest_add_string(in, e->color_key, &schema->color_key));
    return KYMO_OK;
}

/* Adds the graphs whose fields exist. */
static kymo_err add_graphs(kymo_ingest *in, const kymo_event_marker_type *e, kymo_schema *schema,
                           kymo_schema_graph *graphs)
{
    for (uint32_t i = 0; i < e->graph_count; i++) {
        const kymo_event_marker_graph *g = &e->graphs[i];
        if (!g->key || !has_key(in, schema, g->key, strlen(g->key)))
            continue;
        kymo_schema_graph *row = &graphs[schema->graph_count++];
        row->kind = g->kind <= KYMO_GRAPH_LINE_FILLED ? (uint16_t)g->kind : KYMO_GRAPH_LINE;
        row->color = g->color < KYMO_COLOR_COUNT ? (uint16_t)g->color : 0;
        KYMO_TRY(kymo_ingest_add_string(in, g->key, &row->key));
    }
    schema->graphs = graphs;
    return KYMO_OK;
}

/* ---- types of the same name ---- */

static uint64_t layout_hash(const kymo_schema *s)
{
    uint64_t words[2] = {s->name, s->field_count};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    for (uint32_t i = 0; i < s->field_count; i++) {
        words[0] = (uint64_t)s->fields[i].key << 32 | s->fields[i].format;
        words[1] = s->fields[i].columns;
        hash = kymo_hash_words(words, 2, hash);
    }
    return hash;
}

static int same_fields(const kymo_schema *a, const kymo_schema *b)
{
    if (a->field_count != b->field_count)
        return 0;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (a->fields[i].key != b->fields[i].key || a->fields[i].format != b->fields[i].format ||
            a->fields[i].columns != b->fields[i].columns)
            return 0;
    return 1;
}

static struct kymo_ingest_layout *find_layout(kymo_ingest *in, const kymo_schema *schema,
                                              uint64_t hash)
{
    struct kymo_ingest_marks *m = &in->marks;
    uint32_t found;
    for (size_t probe = 0; kymo_index_find(&m->layout_index, hash, &probe, &found);) {
        struct kymo_ingest_layout *layout = &m->layouts.data[found];
        if (layout->name == schema->name &&
            same_fields(kymo_profile_schema(in->profile, layout->schema), schema))
            return layout;
    }
    return NULL;
}

/* Notes that this type is shown as the first one of its name was declared. */
static kymo_err note_looks(kymo_ingest *in, const kymo_event_marker_type *e,
                           const kymo_schema *schema, struct kymo_ingest_layout *first)
{
    char note[640], name[KYMO_INGEST_QUOTE], file[KYMO_INGEST_QUOTE];
    if (first->is_noted ||
        kymo_schema_is_same(kymo_profile_schema(in->profile, first->schema), schema))
        return KYMO_OK;
    first->is_noted = 1;
    snprintf(note, sizeof note,
             "two types of markers are called \"%s\" and have the same fields: both are shown as "
             "the first one was declared, and not as at %s:%u",
             kymo_ingest_quote(e->name, name),
             kymo_ingest_quote(e->file && *e->file ? e->file : "?", file), e->line);
    return kymo_ingest_add_note(in, 0, e->process, KYMO_NOTE_INFO, note);
}

/* Notes that another type has the name already. */
static kymo_err note_other(kymo_ingest *in, const kymo_event_marker_type *e, uint32_t schema)
{
    char note[640], name[KYMO_INGEST_QUOTE], file[KYMO_INGEST_QUOTE], other[KYMO_INGEST_QUOTE];
    uint32_t shown = kymo_profile_schema(in->profile, schema)->name;
    if (shown == in->profile->schema_asked.data[schema])
        return KYMO_OK;
    snprintf(note, sizeof note,
             "two types of markers are called \"%s\" and have other fields: that of %s:%u is shown "
             "as \"%s\"",
             kymo_ingest_quote(e->name, name),
             kymo_ingest_quote(e->file && *e->file ? e->file : "?", file), e->line,
             kymo_ingest_quote(kymo_profile_string(in->profile, shown), other));
    return kymo_ingest_add_note(in, 0, e->process, KYMO_NOTE_WARNING, note);
}

static kymo_err intern_type(kymo_ingest *in, const kymo_event_marker_type *e,
                            const kymo_schema *schema, uint32_t *id)
{
    struct kymo_ingest_marks *m = &in->marks;
    uint64_t hash = layout_hash(schema);
    struct kymo_ingest_layout *first = find_layout(in, schema, hash);
    if (first) {
        *id = first->schema;
        return note_looks(in, e, schema, first);
    }
    uint32_t before = kymo_profile_count(in->profile, KYMO_TABLE_SCHEMAS);
    KYMO_TRY(kymo_profile_add_schema(in->profile, schema, id));
    KYMO_TRY(kymo_vec_reserve(&m->layouts, 1));
    KYMO_TRY(kymo_index_put(&m->layout_index, hash, (uint32_t)m->layouts.len));
    m->layouts.data[m->layouts.len++] =
        (struct kymo_ingest_layout){.name = schema->name, .schema = *id};
    return kymo_profile_count(in->profile, KYMO_TABLE_SCHEMAS) > before ? note_other(in, e, *id)
                                                                        : KYMO_OK;
}

static kymo_err add_type(kymo_ingest *in, const kymo_event_marker_type *e,
                         struct kymo_ingest_type *type)
{
    kymo_schema_field fields[KYMO_SCHEMA_FIELDS_MAX];
    kymo_schema_row rows[KYMO_SCHEMA_FIELDS_MAX];
    kymo_schema_graph graphs[KYMO_SCHEMA_FIELDS_MAX];
    kymo_schema schema = {.size = sizeof schema, .is_stack_based = e->is_stack_based != 0};
    if (e->field_count > KYMO_SCHEMA_FIELDS_MAX || e->row_count > KYMO_SCHEMA_FIELDS_MAX ||
        e->graph_count > KYMO_SCHEMA_FIELDS_MAX)
        return KYMO_E_TOO_BIG;
    schema.show = e->show ? e->show : KYMO_SHOW_CHART | KYMO_SHOW_TABLE;
    KYMO_TRY(make_fields(in, e, type, fields));
    schema.fields = fields;
    schema.field_count = e->field_count;
    KYMO_TRY(add_texts(in, e, &schema));
    for (uint32_t i = 0; i < e->row_count; i++) {
        KYMO_TRY(kymo_ingest_add_string(in, e->rows[i].label, &rows[i].label));
        KYMO_TRY(kymo_ingest_add_string(in, e->rows[i].value, &rows[i].value));
    }
    schema.rows = rows;
    schema.row_count = e->row_count;
    KYMO_TRY(add_graphs(in, e, &schema, graphs));
    return intern_type(in, e, &schema, &type->schema);
}

kymo_err kymo_ingest_on_marker_type(void *ctx, const kymo_event_marker_type *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_type type;
    if (e->type != in->marks.types.len || e->process >= in->processes.len)
        return KYMO_E_INVALID;
    kymo_err err = add_type(in, e, &type);
    if (err == KYMO_E_TOO_BIG)
        type = (struct kymo_ingest_type){.schema = KYMO_NONE}; /* its markers have no values */
    KYMO_TRY(kymo_ingest_leave_out(in, KYMO_INGEST_DEFINITIONS, err));
    return kymo_vec_push(&in->marks.types, type);
}
