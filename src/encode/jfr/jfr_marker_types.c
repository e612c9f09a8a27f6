/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_marker_types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encode/jfr/jfr.h"
#include "kymo/marker_abi.h"

#define EXACT_MAX (1ull << 53) /* integers up to here are exact in a double */

/* What values a field has, while all of them are looked at. */
enum {
    SEEN_NONE = 1, /* a marker without the field */
    SEEN_BOOLEAN = 2,
    SEEN_INTEGER = 4,
    SEEN_BIG = 8, /* an integer that a double does not hold */
    SEEN_DOUBLE = 16,
    SEEN_SPAN = 32,
    SEEN_TIME = 64,
    SEEN_OTHER = 128,
};

static int integer_seen(int64_t value)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    /* The least one means to readers that there is none. */
    return value == INT64_MIN ? SEEN_OTHER : size <= EXACT_MAX ? SEEN_INTEGER : SEEN_BIG;
}

static int value_seen(const kymo_value *value)
{
    switch (value->kind) {
    case KYMO_VALUE_NONE:
        return SEEN_NONE;
    case KYMO_VALUE_BOOL:
        return SEEN_BOOLEAN;
    case KYMO_VALUE_I64:
        return integer_seen(value->as.i64);
    case KYMO_VALUE_U64:
        return value->as.u64 <= INT64_MAX ? integer_seen(value->as.i64) : SEEN_OTHER;
    case KYMO_VALUE_F64:
        return isfinite(value->as.f64) ? SEEN_DOUBLE : SEEN_OTHER;
    case KYMO_VALUE_NS:
        return value->as.i64 == INT64_MIN ? SEEN_OTHER : SEEN_SPAN;
    case KYMO_VALUE_TIME:
        return SEEN_TIME;
    default:
        return SEEN_OTHER;
    }
}

/* ---- one marker after the other ---- */

static uint16_t flags_of(const kymo_marker *m)
{
    unsigned flags = KYMO_JFR_MARKER_USED;
    if (m->phase == KYMO_MARKER_INTERVAL)
        flags |= KYMO_JFR_MARKER_DURATION;
    if (m->phase >= KYMO_MARKER_UNFINISHED)
        flags |= KYMO_JFR_MARKER_INCOMPLETE;
    flags |= m->stack != KYMO_NONE ? KYMO_JFR_MARKER_STACK : 0;
    flags |= m->track ? KYMO_JFR_MARKER_TRACK : 0;
    flags |= m->owner ? KYMO_JFR_MARKER_OWNER : 0;
    flags |= m->labels != KYMO_NONE ? KYMO_JFR_MARKER_LABELS : 0;
    return (uint16_t)flags;
}

static void look_at_marker(kymo_jfr *w, const kymo_marker *m)
{
    const kymo_schema *schema = kymo_profile_schema(w->p, m->schema);
    kymo_jfr_marker_type *type = &w->marker_types[schema ? m->schema : w->p->schemas.len];
    const kymo_value *values = kymo_profile_values(w->p, m->first_value, m->value_count);
    if (!(type->flags & KYMO_JFR_MARKER_USED))
        type->category = m->category;
    type->flags |= flags_of(m);
    if (type->category != m->category)
        type->flags |= KYMO_JFR_MARKER_CATEGORY;
    for (uint32_t i = 0; schema && i < schema->field_count; i++)
        w->marker_fields[type->first_field + i] |=
            (uint8_t)(values && i < m->value_count ? value_seen(&values[i]) : SEEN_NONE);
}

/* ---- types ---- */

static int is_only(unsigned seen, unsigned kinds)
{
    return (seen & ~kinds) == 0;
}

/* A boolean cannot be absent, as numbers can. */
static uint8_t way_of(unsigned seen)
{
    if (seen == SEEN_BOOLEAN)
        return KYMO_JFR_AS_BOOLEAN;
    if (is_only(seen, SEEN_NONE))
        return KYMO_JFR_AS_TEXT;
    if (is_only(seen, SEEN_NONE | SEEN_INTEGER | SEEN_BIG) || is_only(seen, SEEN_NONE | SEEN_SPAN))
        return KYMO_JFR_AS_LONG;
    if (is_only(seen, SEEN_NONE | SEEN_INTEGER | SEEN_DOUBLE))
        return KYMO_JFR_AS_DOUBLE;
    return is_only(seen, SEEN_NONE | SEEN_TIME) ? KYMO_JFR_AS_TIME : KYMO_JFR_AS_TEXT;
}

static kymo_jfr_note integer_note(uint16_t format)
{
    switch (format) {
    case KYMO_FORMAT_BYTES:
        return KYMO_JFR_BYTES;
    case KYMO_FORMAT_SECONDS:
        return KYMO_JFR_SPAN_S;
    case KYMO_FORMAT_DURATION:
    case KYMO_FORMAT_MILLISECONDS:
        return KYMO_JFR_SPAN_MS;
    case KYMO_FORMAT_MICROSECONDS:
        return KYMO_JFR_SPAN_US;
    case KYMO_FORMAT_NANOSECONDS:
        return KYMO_JFR_SPAN_NS;
    default:
        return KYMO_JFR_PLAIN;
    }
}

static kymo_jfr_field field_of(const kymo_jfr *w, const kymo_schema_field *from, unsigned seen)
{
    static const uint16_t types[] = {[KYMO_JFR_AS_TEXT] = KYMO_JFR_STRING,
                                     [KYMO_JFR_AS_BOOLEAN] = KYMO_JFR_BOOLEAN,
                                     [KYMO_JFR_AS_LONG] = KYMO_JFR_LONG,
                                     [KYMO_JFR_AS_DOUBLE] = KYMO_JFR_DOUBLE,
                                     [KYMO_JFR_AS_TIME] = KYMO_JFR_LONG};
    uint8_t way = way_of(seen);
    kymo_jfr_note note = KYMO_JFR_PLAIN;
    if (way == KYMO_JFR_AS_LONG)
        note = seen & SEEN_SPAN ? KYMO_JFR_SPAN_NS : integer_note(from->format);
    if (way == KYMO_JFR_AS_TIME)
        note = KYMO_JFR_TIME;
    if (way == KYMO_JFR_AS_DOUBLE && from->format == KYMO_FORMAT_PERCENTAGE)
        note = KYMO_JFR_RATIO;
    return (kymo_jfr_field){.type = types[way],
                            .note = (uint8_t)note,
                            .label =
                                kymo_profile_string(w->p, from->label ? from->label : from->key)};
}

/* The fields that stand before those of the schema; *count of them. */
static void add_own_fields(const kymo_jfr_marker_type *type, kymo_jfr_field *fields,
                           uint32_t *count)
{
    static const struct {
        unsigned flag;
        kymo_jfr_field field;
    } own[] = {
        {KYMO_JFR_MARKER_USED, KYMO_JFR_START},
        {KYMO_JFR_MARKER_DURATION, KYMO_JFR_DURATION},
        {KYMO_JFR_MARKER_USED, KYMO_JFR_EVENT_THREAD},
        {KYMO_JFR_MARKER_STACK, KYMO_JFR_STACK},
        {KYMO_JFR_MARKER_USED, {.name = "name", .type = KYMO_JFR_STRING}},
        {KYMO_JFR_MARKER_CATEGORY, {.name = "category", .type = KYMO_JFR_STRING}},
        {KYMO_JFR_MARKER_INCOMPLETE, {.name = "incomplete", .type = KYMO_JFR_STRING}},
        {KYMO_JFR_MARKER_TRACK, {.name = "track", .type = KYMO_JFR_STRING}},
        {KYMO_JFR_MARKER_OWNER, {.name = "owner", .type = KYMO_JFR_LONG}},
        {KYMO_JFR_MARKER_LABELS, {.name = "labels", .type = KYMO_JFR_STRING}},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (type->flags & own[i].flag)
            fields[(*count)++] = own[i].field;
}

/* Names that events have in any case are not for a schema's fields, whatever this type has. */
static kymo_err reserve_names(kymo_jfr *w, kymo_jfr_names *names)
{
    static const char *const reserved[] = {"startTime", "duration", "eventThread", "stackTrace",
                                           "name",      "category", "incomplete",  "track",
                                           "owner",     "labels"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!kymo_jfr_names_make(names, &w->arena, "", reserved[i]))
            return KYMO_E_NOMEM;
    return KYMO_OK;
}

static kymo_err add_fields(kymo_jfr *w, const kymo_schema *schema, kymo_jfr_marker_type *type,
                           kymo_jfr_field *fields)
{
    kymo_jfr_names names = {0};
    kymo_err err = reserve_names(w, &names);
    add_own_fields(type, fields, &type->type.field_count);
    for (uint32_t i = 0; schema && err == KYMO_OK && i < schema->field_count; i++) {
        uint8_t *seen = &w->marker_fields[type->first_field + i];
        kymo_jfr_field *f = &fields[type->type.field_count++];
        *f = field_of(w, &schema->fields[i], *seen);
        f->name = kymo_jfr_names_make(&names, &w->arena, "",
                                      kymo_profile_string(w->p, schema->fields[i].key));
        if (!f->name)
            err = KYMO_E_NOMEM;
        else if (strcmp(f->name, f->label) == 0)
            f->label = NULL; /* it says nothing more */
        *seen = way_of(*seen);
    }
    kymo_jfr_names_deinit(&names);
    return err;
}

/* The whole and the part, "Network" and "DNS". */
static const char *category_name(const kymo_jfr *w, const kymo_jfr_marker_type *type)
{
    const kymo_marker_category *c = kymo_profile_marker_category(w->p, type->category);
    if (!c || type->flags & KYMO_JFR_MARKER_CATEGORY)
        return NULL;
    return kymo_profile_string(w->p, c->name);
}

static kymo_err make_type(kymo_jfr *w, const kymo_schema *schema, kymo_jfr_marker_type *type)
{
    enum { OWN_FIELDS_MAX = 10 };
    const char *label = schema ? kymo_profile_string(w->p, schema->name) : "Marker";
    size_t most = OWN_FIELDS_MAX + (schema ? schema->field_count : 0);
    kymo_jfr_field *fields =
        kymo_arena_calloc(&w->arena, most * sizeof *fields, _Alignof(kymo_jfr_field));
    const char *name = kymo_jfr_names_make(&w->type_names, &w->arena, "kymo.marker.", label);
    if (!fields || !name)
        return KYMO_E_NOMEM;
    type->type = (kymo_jfr_type){.name = name,
                                 .id = w->type_count++,
                                 .kind = KYMO_JFR_KIND_EVENT,
                                 .fields = fields,
                                 .label = label,
                                 .category = {"Kymo", "Markers", category_name(w, type)}};
    if (schema && schema->description)
        type->type.description = kymo_profile_string(w->p, schema->description);
    return add_fields(w, schema, type, fields);
}

kymo_err kymo_jfr_make_marker_types(kymo_jfr *w)
{
    size_t schemas = w->p->schemas.len;
    uint32_t fields = 0;
    w->marker_types = calloc(schemas + 1, sizeof *w->marker_types);
    if (!w->marker_types)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < schemas; i++) {
        w->marker_types[i].first_field = fields;
        fields += w->p->schemas.data[i].field_count;
    }
    w->marker_fields = calloc((size_t)fields + 1, 1);
    if (!w->marker_fields)
        return KYMO_E_NOMEM;
    for (size_t t = 0; t < w->p->markers.len; t++)
        for (size_t i = 0; i < w->p->markers.data[t].rows.len; i++)
            look_at_marker(w, &w->p->markers.data[t].rows.data[i]);
    for (uint32_t i = 0; i <= schemas; i++)
        if (w->marker_types[i].flags)
            KYMO_TRY(make_type(w, kymo_profile_schema(w->p, i), &w->marker_types[i]));
    return KYMO_OK;
}

void kymo_jfr_marker_types_deinit(kymo_jfr *w)
{
    free(w->marker_types);
    free(w->marker_fields);
}
