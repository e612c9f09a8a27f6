/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_fields.c - decides how the fields of markers are written: one pass over all values,
 * before the schemas, which come first in the file.
 *
 * A field of the format shows all its values in the same way. If one value cannot be shown exactly
 * like that (an integer beyond 2^53, a pointer, an infinity, text in a field for numbers), the
 * format of the field is "string" and all its values are text; in a table this is decided column by
 * column. Ids of flows are strings of the file, which are numbered here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/firefox/firefox.h"
#include "encode/value_text.h"

static uint32_t count_columns(const char *columns)
{
    kymo_firefox_column column;
    uint32_t count = 0;
    while (count < KYMO_FIREFOX_COLUMNS_MAX && kymo_firefox_next_column(&columns, &column))
        count++;
    return count ? count : 1;
}

static kymo_err add_fields(kymo_firefox *w, uint32_t id)
{
    const kymo_schema *schema = kymo_profile_schema(w->p, id);
    w->marks.schemas[id].first_field = (uint32_t)w->marks.fields.len;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const kymo_schema_field *f = &schema->fields[i];
        kymo_firefox_field field = {.format = f->format};
        if (field.format == KYMO_FORMAT_NONE || field.format >= KYMO_FORMAT_COUNT)
            field.format = KYMO_FORMAT_STRING;
        if (field.format == KYMO_FORMAT_TABLE)
            field.column_count = count_columns(kymo_profile_string(w->p, f->columns));
        KYMO_TRY(kymo_vec_push(&w->marks.fields, field));
    }
    return KYMO_OK;
}

/* ---- flows ---- */

static uint32_t find_flow(const kymo_firefox_marks *marks, uint64_t flow, uint64_t hash)
{
    uint32_t at;
    for (size_t probe = 0; kymo_index_find(&marks->flow_index, hash, &probe, &at);)
        if (marks->flows.data[at] == flow)
            return at;
    return KYMO_NONE;
}

static uint64_t hash_of_flow(uint64_t flow)
{
    return kymo_hash_words(&flow, 1, kymo_hash_secret());
}

static kymo_err add_flow(kymo_firefox_marks *marks, uint64_t flow)
{
    uint64_t hash = hash_of_flow(flow);
    if (find_flow(marks, flow, hash) != KYMO_NONE)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&marks->flows, flow));
    return kymo_index_put(&marks->flow_index, hash, (uint32_t)marks->flows.len - 1);
}

uint32_t kymo_firefox_flow_string(const kymo_firefox_marks *marks, uint64_t flow)
{
    return marks->first_flow + find_flow(marks, flow, hash_of_flow(flow));
}

void kymo_firefox_put_flows(kymo_firefox *w)
{
    char text[KYMO_VALUE_TEXT_MAX];
    for (size_t i = 0; i < w->marks.flows.len; i++) {
        size_t len;
        kymo_value value = {.kind = KYMO_VALUE_FLOW, .as.u64 = w->marks.flows.data[i]};
        kymo_value_text(w->p, &value, KYMO_FORMAT_FLOW_ID, text, &len);
        kymo_json_string(w->json, text, len);
    }
}

/* ---- one marker after the other ---- */

static void look_at_table(kymo_firefox *w, kymo_firefox_field *field, const char *columns,
                          const kymo_value *value)
{
    uint32_t formats[KYMO_FIREFOX_COLUMNS_MAX] = {KYMO_FORMAT_STRING};
    kymo_firefox_column column;
    const kymo_value *cells;
    uint32_t count = kymo_firefox_cells(w->p, value, &cells);
    for (uint32_t i = 0; i < field->column_count && kymo_firefox_next_column(&columns, &column);
         i++)
        formats[i] = column.format;
    /* a row that ends early is filled with empty text */
    uint32_t filled = (count + field->column_count - 1) / field->column_count * field->column_count;
    for (uint32_t i = 0; i < filled; i++) {
        kymo_firefox_numeric number;
        uint32_t at = i % field->column_count;
        if (i >= count || !kymo_firefox_number_of(w->p, &cells[i], formats[at], &number))
            field->text_columns |= 1ull << at;
    }
}

static kymo_err look_at_value(kymo_firefox *w, kymo_firefox_field *field,
                              const kymo_schema_field *schema_field, const kymo_value *value)
{
    kymo_firefox_numeric number;
    switch (field->format) {
    case KYMO_FORMAT_URL:
    case KYMO_FORMAT_FILE_PATH:
    case KYMO_FORMAT_SANITIZED_STRING:
    case KYMO_FORMAT_STRING:
    case KYMO_FORMAT_PID:
    case KYMO_FORMAT_LIST:
        return KYMO_OK;
    case KYMO_FORMAT_UNIQUE_STRING:
        if (value->kind == KYMO_VALUE_STRING)
            w->string_used[value->as.string] = 1;
        else
            field->format = KYMO_FORMAT_STRING;
        return KYMO_OK;
    case KYMO_FORMAT_FLOW_ID:
    case KYMO_FORMAT_TERMINATING_FLOW_ID:
        if (value->kind == KYMO_VALUE_FLOW)
            return add_flow(&w->marks, value->as.u64);
        field->format = KYMO_FORMAT_STRING;
        return KYMO_OK;
    case KYMO_FORMAT_TABLE:
        look_at_table(w, field, kymo_profile_string(w->p, schema_field->columns), value);
        return KYMO_OK;
    default:
        if (!kymo_firefox_number_of(w->p, value, field->format, &number))
            field->format = KYMO_FORMAT_STRING;
        return KYMO_OK;
    }
}

static uint32_t flags_of(const kymo_profile *p, const kymo_marker *m)
{
    uint32_t flags = KYMO_FIREFOX_IS_USED;
    const kymo_marker_category *category = kymo_profile_marker_category(p, m->category);
    if (category && category->parent != KYMO_NONE)
        flags |= KYMO_FIREFOX_HAS_PART;
    if (m->owner)
        flags |= KYMO_FIREFOX_HAS_OWNER;
    if (m->owner > KYMO_FIREFOX_EXACT_MAX)
        flags |= KYMO_FIREFOX_OWNER_IS_TEXT;
    if (m->labels != KYMO_NONE)
        flags |= KYMO_FIREFOX_HAS_LABELS;
    return flags;
}

static kymo_err look_at_marker(kymo_firefox *w, const kymo_marker *m)
{
    const kymo_schema *schema = kymo_profile_schema(w->p, m->schema);
    kymo_firefox_schema *s = &w->marks.schemas[schema ? m->schema : w->marks.schema_count];
    s->flags |= flags_of(w->p, m);
    w->string_used[m->name] = 1;
    if (!schema)
        return KYMO_OK;
    const kymo_value *values = kymo_profile_values(w->p, m->first_value, m->value_count);
    for (uint32_t i = 0; values && i < m->value_count; i++)
        if (values[i].kind != KYMO_VALUE_NONE)
            KYMO_TRY(look_at_value(w, &w->marks.fields.data[s->first_field + i], &schema->fields[i],
                                   &values[i]));
    return KYMO_OK;
}

/* ---- names that Kymo adds ---- */

static int is_name_of_schema(const kymo_firefox *w, const char *name)
{
    for (uint32_t i = 0; i < w->marks.schema_count; i++)
        if (strcmp(kymo_profile_string(w->p, kymo_profile_schema(w->p, i)->name), name) == 0)
            return 1;
    return 0;
}

static void choose_name(const kymo_firefox *w, const char *base, char out[KYMO_FIREFOX_NAME_MAX])
{
    snprintf(out, KYMO_FIREFOX_NAME_MAX, "%s", base);
    for (unsigned i = 2; is_name_of_schema(w, out); i++)
        snprintf(out, KYMO_FIREFOX_NAME_MAX, "%s %u", base, i);
}

/* ---- all markers ---- */

/* Labels of samples become markers named after their keys. */
static void use_label_keys(kymo_firefox *w, uint32_t thread)
{
    const uint32_t *sets = kymo_profile_sample_labels(w->p, thread);
    size_t samples = kymo_profile_samples(w->p, thread).count;
    w->marks.has_sample_labels |= sets != NULL;
    for (size_t i = 0; sets && i < samples; i++) {
        uint32_t count;
        const kymo_label *label = kymo_profile_label_set(w->p, sets[i], &count);
        if (i > 0 && sets[i] == sets[i - 1])
            continue;
        for (uint32_t k = 0; k < count; k++)
            w->string_used[label[k].key] = 1;
    }
}

kymo_err kymo_firefox_look_at_markers(kymo_firefox *w)
{
    kymo_firefox_marks *marks = &w->marks;
    marks->schema_count = kymo_profile_count(w->p, KYMO_TABLE_SCHEMAS);
    marks->schemas = calloc((size_t)marks->schema_count + 1, sizeof *marks->schemas);
    if (!marks->schemas)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < marks->schema_count; i++)
        KYMO_TRY(add_fields(w, i));
    choose_name(w, "Marker", marks->plain_name);
    choose_name(w, "Label", marks->label_name);
    for (uint32_t t = 0; t < w->p->threads.len; t++) {
        kymo_markers markers = kymo_profile_markers(w->p, t);
        use_label_keys(w, t);
        for (size_t i = 0; i < markers.count; i++)
            KYMO_TRY(look_at_marker(w, &markers.rows[i]));
        KYMO_TRY(kymo_encoder_step(w->encoder, markers.count));
    }
    marks->first_flow =
        (uint32_t)w->p->strings.len + w->unnamed_count + (uint32_t)(w->lacks_stacks != 0);
    return KYMO_OK;
}

void kymo_firefox_marks_deinit(kymo_firefox_marks *marks)
{
    free(marks->schemas);
    free(marks->category_of);
    kymo_vec_deinit(&marks->fields);
    kymo_vec_deinit(&marks->flows);
    kymo_index_deinit(&marks->flow_index);
    kymo_vec_deinit(&marks->tracked);
    kymo_vec_deinit(&marks->tracks);
}
