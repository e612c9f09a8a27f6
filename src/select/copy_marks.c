/* SPDX-License-Identifier: Apache-2.0 */
/* copy_marks.c - label sets, marker categories, schemas, markers with their values, counters. */
#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"
#include "select/copy_state.h"

static kymo_err copy_value(struct kymo_copy *c, const kymo_value *value, kymo_value *copy)
{
    *copy = *value;
    if (value->kind == KYMO_VALUE_STRING)
        return kymo_copy_string(c, KYMO_TEXT_VALUE, value->as.string, &copy->as.string);
    if (value->kind != KYMO_VALUE_LIST || value->as.list.count == 0)
        return KYMO_OK;
    uint32_t count = value->as.list.count;
    const kymo_value *list = kymo_profile_values(c->from, value->as.list.first, count);
    kymo_value *rows = list ? malloc(count * sizeof *rows) : NULL;
    kymo_err err = rows ? KYMO_OK : list ? KYMO_E_NOMEM : KYMO_E_INVALID;
    for (uint32_t i = 0; err == KYMO_OK && i < count; i++) {
        rows[i] = list[i];
        if (list[i].kind == KYMO_VALUE_STRING)
            err = kymo_copy_string(c, KYMO_TEXT_VALUE, list[i].as.string, &rows[i].as.string);
    }
    if (err == KYMO_OK)
        err = kymo_profile_add_values(c->to, rows, count, &copy->as.list.first);
    free(rows);
    return err;
}

/* ---- labels ---- */

/* The labels of a set lie by the ids of their keys: the first strings of the copy are the keys, in
 * the order of their ids. */
static kymo_err copy_keys(struct kymo_copy *c)
{
    uint32_t strings = kymo_profile_count(c->from, KYMO_TABLE_STRINGS);
    uint8_t *is_key = calloc(strings + 1u, 1);
    kymo_err err = is_key ? KYMO_OK : KYMO_E_NOMEM;
    for (uint32_t i = 0; is_key && i < kymo_profile_count(c->from, KYMO_TABLE_LABEL_SETS); i++) {
        uint32_t count;
        const kymo_label *labels = kymo_profile_label_set(c->from, i, &count);
        for (uint32_t k = 0; c->labels[i] != KYMO_NONE && k < count; k++)
            is_key[labels[k].key] = 1;
    }
    for (uint32_t i = 0, id; err == KYMO_OK && i < strings; i++)
        if (is_key[i])
            err = kymo_copy_string(c, KYMO_TEXT_NAME, i, &id);
    free(is_key);
    return err;
}

static kymo_err copy_label_set(struct kymo_copy *c, uint32_t id)
{
    kymo_label copy[KYMO_LABEL_SET_MAX];
    uint32_t count;
    const kymo_label *labels = kymo_profile_label_set(c->from, id, &count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = (kymo_label){0};
        KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_NAME, labels[i].key, &copy[i].key));
        KYMO_TRY(copy_value(c, &labels[i].value, &copy[i].value));
    }
    return kymo_profile_add_label_set(c->to, copy, count, &c->labels[id]);
}

kymo_err kymo_copy_label_sets(struct kymo_copy *c)
{
    KYMO_TRY(copy_keys(c));
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_LABEL_SETS); i++)
        if (c->labels[i] != KYMO_NONE)
            KYMO_TRY(copy_label_set(c, i));
    return KYMO_OK;
}

/* ---- categories and schemas ---- */

static kymo_err copy_category(struct kymo_copy *c, uint32_t id)
{
    kymo_marker_category row = *kymo_profile_marker_category(c->from, id);
    row.parent = kymo_copy_map(c->category, row.parent);
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, row.name, &row.name));
    return kymo_profile_add_marker_category(c->to, &row, &c->category[id]);
}

static kymo_err copy_code_texts(struct kymo_copy *c, uint32_t *const *strings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, *strings[i], strings[i]));
    return KYMO_OK;
}

/* Fields, rows and graphs; each array has room for KYMO_SCHEMA_FIELDS_MAX. */
static kymo_err copy_parts(struct kymo_copy *c, const kymo_schema *schema,
                           kymo_schema_field *fields, kymo_schema_row *rows,
                           kymo_schema_graph *graphs)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        uint32_t *const strings[] = {&fields[i].key, &fields[i].label, &fields[i].columns};
        fields[i] = schema->fields[i];
        KYMO_TRY(copy_code_texts(c, strings, KYMO_ARRAY_LEN(strings)));
    }
    for (uint32_t i = 0; i < schema->row_count; i++) {
        uint32_t *const strings[] = {&rows[i].label, &rows[i].value};
        rows[i] = schema->rows[i];
        KYMO_TRY(copy_code_texts(c, strings, KYMO_ARRAY_LEN(strings)));
    }
    for (uint32_t i = 0; i < schema->graph_count; i++) {
        uint32_t *const strings[] = {&graphs[i].key};
        graphs[i] = schema->graphs[i];
        KYMO_TRY(copy_code_texts(c, strings, KYMO_ARRAY_LEN(strings)));
    }
    return KYMO_OK;
}

static kymo_err copy_schema(struct kymo_copy *c, uint32_t id)
{
    kymo_schema_field fields[KYMO_SCHEMA_FIELDS_MAX];
    kymo_schema_row rows[KYMO_SCHEMA_FIELDS_MAX];
    kymo_schema_graph graphs[KYMO_SCHEMA_FIELDS_MAX];
    const kymo_schema *schema = kymo_profile_schema(c->from, id);
    kymo_schema row = *schema;
    uint32_t *const strings[] = {&row.name,  &row.chart,       &row.tooltip,
                                 &row.table, &row.description, &row.color_key};
    KYMO_TRY(copy_code_texts(c, strings, KYMO_ARRAY_LEN(strings)));
    KYMO_TRY(copy_parts(c, schema, fields, rows, graphs));
    row.fields = fields;
    row.rows = rows;
    row.graphs = graphs;
    return kymo_profile_add_schema(c->to, &row, &c->schema[id]);
}

/* ---- rows ---- */

/* values: room for those of any marker. */
static kymo_err copy_marker(struct kymo_copy *c, const kymo_marker *marker, kymo_value *values)
{
    kymo_marker row = *marker;
    const kymo_value *own = kymo_profile_values(c->from, marker->first_value, marker->value_count);
    row.thread = c->thread[marker->thread];
    row.category = kymo_copy_map(c->category, marker->category);
    row.schema = kymo_copy_map(c->schema, marker->schema);
    row.stack = kymo_copy_map(c->stack, marker->stack);
    row.labels = kymo_copy_map(c->labels, marker->labels);
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_NAME, marker->name, &row.name));
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_NAME, marker->track, &row.track));
    for (uint32_t i = 0; i < marker->value_count; i++)
        KYMO_TRY(copy_value(c, &own[i], &values[i]));
    return kymo_profile_add_marker(c->to, &row, marker->value_count ? values : NULL);
}

static kymo_err copy_markers(struct kymo_copy *c, uint32_t thread)
{
    kymo_value values[KYMO_SCHEMA_FIELDS_MAX];
    kymo_markers m = kymo_profile_markers(c->from, thread);
    for (size_t i = 0; i < m.count; i++)
        if (kymo_keep_has_marker(c->keep, &m.rows[i]))
            KYMO_TRY(copy_marker(c, &m.rows[i], values));
    return KYMO_OK;
}

/* In a range of time the value before it counts, too: it is the one at its beginning. */
static kymo_err copy_counts(struct kymo_copy *c, uint32_t counter, uint32_t id)
{
    kymo_counts counts = kymo_profile_counts(c->from, counter);
    for (uint32_t i = 0; i < counts.count; i++) {
        int is_last_before = counts.time_ns[i] < c->keep->from_ns &&
                             (i + 1 == counts.count || counts.time_ns[i + 1] >= c->keep->from_ns);
        if (is_last_before || kymo_keep_has_time(c->keep, counts.time_ns[i]))
            KYMO_TRY(kymo_profile_add_count(c->to, id, counts.time_ns[i], counts.value[i],
                                            counts.operations[i]));
    }
    return KYMO_OK;
}

static kymo_err copy_counter(struct kymo_copy *c, uint32_t counter)
{
    kymo_counter row = *kymo_profile_counter(c->from, counter);
    uint32_t *const strings[] = {&row.name, &row.unit, &row.description};
    uint32_t id;
    row.process = c->process[row.process];
    row.category = kymo_copy_map(c->category, row.category);
    KYMO_TRY(copy_code_texts(c, strings, KYMO_ARRAY_LEN(strings)));
    KYMO_TRY(kymo_profile_add_counter(c->to, &row, &id));
    return copy_counts(c, counter, id);
}

static kymo_err copy_losses(struct kymo_copy *c, uint32_t id)
{
    kymo_marker_losses row = *kymo_profile_marker_losses(c->from, id);
    row.category = kymo_copy_map(c->category, row.category);
    row.schema = kymo_copy_map(c->schema, row.schema);
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_NAME, row.name, &row.name));
    return kymo_profile_add_marker_losses(c->to, &row);
}

kymo_err kymo_copy_marks(struct kymo_copy *c)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MARKER_CATEGORIES); i++)
        if (c->category[i] != KYMO_NONE)
            KYMO_TRY(copy_category(c, i));
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_SCHEMAS); i++)
        if (c->schema[i] != KYMO_NONE)
            KYMO_TRY(copy_schema(c, i));
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_THREADS); i++)
        if (c->thread[i] != KYMO_NONE)
            KYMO_TRY(copy_markers(c, i));
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_COUNTERS); i++)
        if (c->process[kymo_profile_counter(c->from, i)->process] != KYMO_NONE)
            KYMO_TRY(copy_counter(c, i));
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MARKER_LOSSES); i++)
        if (c->loss[i] != KYMO_NONE)
            KYMO_TRY(copy_losses(c, i));
    return KYMO_OK;
}
