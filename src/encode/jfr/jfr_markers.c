/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_markers.c - markers, each an event of its schema's type.
 *
 * An interval without an end, or without a beginning, is an event of no duration that says so.
 */
#include <math.h>
#include <string.h>

#include "encode/jfr/jfr_marker_types.h"
#include "encode/jfr/jfr_order.h"
#include "encode/value_text.h"

/* ---- values ---- */

static void put_text(kymo_jfr *w, const kymo_value *value, uint32_t format)
{
    char buffer[KYMO_VALUE_TEXT_MAX];
    size_t len;
    const char *text = kymo_value_text(w->p, value, format, buffer, &len);
    kymo_jfr_string(&w->events, text, len);
}

static void add_text(kymo_jfr *w, kymo_jfr_bytes *out, const kymo_value *value, uint32_t format)
{
    char buffer[KYMO_VALUE_TEXT_MAX];
    size_t len;
    const char *text = kymo_value_text(w->p, value, format, buffer, &len);
    kymo_jfr_raw(out, text, len);
}

static uint32_t count_columns(const char *columns)
{
    uint32_t count = 1;
    for (; *columns; columns++)
        count += *columns == '|';
    return count;
}

/* "a, b; c, d": cells, and of a table rows. */
static void put_list(kymo_jfr *w, const kymo_schema_field *field, const kymo_value *value)
{
    kymo_jfr_bytes text = {0};
    uint32_t count = value->as.list.count;
    const kymo_value *cells = kymo_profile_values(w->p, value->as.list.first, count);
    uint32_t columns = field->format == KYMO_FORMAT_TABLE
                           ? count_columns(kymo_profile_string(w->p, field->columns))
                           : UINT32_MAX;
    for (uint32_t i = 0; cells && i < count; i++) {
        if (i > 0)
            kymo_jfr_raw(&text, i % columns ? ", " : "; ", 2);
        add_text(w, &text, &cells[i], KYMO_FORMAT_STRING);
    }
    w->events.failed |= text.failed;
    kymo_jfr_string(&w->events, (const char *)text.data, text.len);
    kymo_jfr_bytes_deinit(&text);
}

static double double_of(const kymo_value *value)
{
    switch (value->kind) {
    case KYMO_VALUE_NONE:
        return (double)NAN;
    case KYMO_VALUE_F64:
        return value->as.f64;
    default:
        return (double)value->as.i64;
    }
}

static void put_value(kymo_jfr *w, const kymo_schema_field *field, uint8_t way,
                      const kymo_value *value)
{
    int is_absent = value->kind == KYMO_VALUE_NONE;
    switch (way) {
    case KYMO_JFR_AS_BOOLEAN:
        kymo_jfr_u8(&w->events, value->as.u64 != 0);
        return;
    case KYMO_JFR_AS_LONG:
        kymo_jfr_varint(&w->events, is_absent ? (uint64_t)INT64_MIN : value->as.u64);
        return;
    case KYMO_JFR_AS_TIME:
        kymo_jfr_varint(&w->events,
                        is_absent ? (uint64_t)INT64_MIN : kymo_since_origin(w->p, value->as.u64));
        return;
    case KYMO_JFR_AS_DOUBLE:
        kymo_jfr_double(&w->events, double_of(value));
        return;
    default:
        if (is_absent)
            kymo_jfr_cstr(&w->events, NULL);
        else if (value->kind == KYMO_VALUE_LIST)
            put_list(w, field, value);
        else
            put_text(w, value, field->format);
    }
}

static void put_fields(kymo_jfr *w, const kymo_marker *m, const kymo_schema *schema, uint32_t first)
{
    const kymo_value none = {0};
    const kymo_value *values = kymo_profile_values(w->p, m->first_value, m->value_count);
    for (uint32_t i = 0; i < schema->field_count; i++)
        put_value(w, &schema->fields[i], w->marker_fields[first + i],
                  values && i < m->value_count ? &values[i] : &none);
}

/* ---- what every marker may have ---- */

static void put_labels(kymo_jfr *w, uint32_t set)
{
    kymo_jfr_bytes text = {0};
    uint32_t count;
    const kymo_label *labels = kymo_profile_label_set(w->p, set, &count);
    if (count == 0) {
        kymo_jfr_cstr(&w->events, NULL);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            kymo_jfr_raw(&text, " ", 1);
        kymo_jfr_raw(&text, kymo_profile_string(w->p, labels[i].key),
                     kymo_profile_string_len(w->p, labels[i].key));
        kymo_jfr_raw(&text, "=", 1);
        add_text(w, &text, &labels[i].value, KYMO_FORMAT_STRING);
    }
    w->events.failed |= text.failed;
    kymo_jfr_string(&w->events, (const char *)text.data, text.len);
    kymo_jfr_bytes_deinit(&text);
}

static void put_string_or_null(kymo_jfr *w, int is_there, uint32_t string)
{
    if (is_there)
        kymo_jfr_put_string(w, string);
    else
        kymo_jfr_cstr(&w->events, NULL);
}

static const char *incomplete(const kymo_marker *m)
{
    return m->phase == KYMO_MARKER_UNFINISHED ? "no end"
           : m->phase == KYMO_MARKER_UNBEGUN  ? "no beginning"
                                              : NULL;
}

static void put_own_fields(kymo_jfr *w, const kymo_marker *m, unsigned flags, uint64_t time_ns)
{
    const kymo_marker_category *category = kymo_profile_marker_category(w->p, m->category);
    uint64_t end_ns = kymo_since_origin(w->p, m->end_ns);
    kymo_jfr_varint(&w->events, time_ns);
    if (flags & KYMO_JFR_MARKER_DURATION)
        kymo_jfr_varint(&w->events, end_ns > time_ns ? end_ns - time_ns : 0);
    kymo_jfr_varint(&w->events, kymo_jfr_thread_key(&w->pools, m->thread));
    if (flags & KYMO_JFR_MARKER_STACK)
        kymo_jfr_varint(&w->events,
                        m->stack != KYMO_NONE ? kymo_jfr_stack_key(&w->pools, m->stack) : 0);
    kymo_jfr_put_string(w, m->name);
    if (flags & KYMO_JFR_MARKER_CATEGORY)
        put_string_or_null(w, category != NULL, category ? category->name : 0);
    if (flags & KYMO_JFR_MARKER_INCOMPLETE)
        kymo_jfr_cstr(&w->events, incomplete(m));
    if (flags & KYMO_JFR_MARKER_TRACK)
        put_string_or_null(w, m->track != 0, m->track);
    if (flags & KYMO_JFR_MARKER_OWNER)
        kymo_jfr_varint(&w->events, m->owner);
    if (flags & KYMO_JFR_MARKER_LABELS)
        put_labels(w, m->labels);
}

/* ---- a thread's markers as a source ---- */

static int look(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_marker_rows *markers = &w->p->markers.data[source->of];
    if (source->next >= markers->rows.len)
        return 0;
    source->time_ns = kymo_since_origin(w->p, markers->rows.data[source->next].start_ns);
    return 1;
}

static void put(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_marker *m = &w->p->markers.data[source->of].rows.data[source->next++];
    const kymo_schema *schema = kymo_profile_schema(w->p, m->schema);
    const kymo_jfr_marker_type *type = &w->marker_types[schema ? m->schema : w->p->schemas.len];
    size_t begin = kymo_jfr_begin(w, &type->type);
    put_own_fields(w, m, type->flags, source->time_ns);
    if (schema)
        put_fields(w, m, schema, type->first_field);
    kymo_jfr_end(w, begin);
}

const kymo_jfr_source_kind kymo_jfr_markers = {KYMO_TABLE_THREADS, look, put};
