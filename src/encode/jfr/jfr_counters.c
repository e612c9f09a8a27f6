/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_counters.c - counters of programs and of the system: a type of event for each name, with the
 * process in a field. An event has a value, not a change.
 *
 * Percent are fractions of 1, as readers want them.
 */
#include <string.h>

#include "base/f64.h"
#include "encode/jfr/jfr_order.h"
#include "kymo/marker_abi.h"

enum { FIELDS = 4 };

static int is_percent(const kymo_jfr *w, const kymo_counter *c)
{
    return strcmp(kymo_profile_string(w->p, c->unit), "percent") == 0;
}

static int is_double(const kymo_jfr *w, const kymo_counter *c)
{
    return (c->flags & KYMO_COUNTER_IS_F64) || is_percent(w, c);
}

static const char *text_or_null(const kymo_jfr *w, uint32_t string)
{
    return string ? kymo_profile_string(w->p, string) : NULL;
}

static kymo_jfr_field value_field(const kymo_jfr *w, const kymo_counter *c)
{
    kymo_jfr_field f = {.name = "value", .type = KYMO_JFR_LONG, .label = text_or_null(w, c->unit)};
    if (is_double(w, c)) {
        f.type = KYMO_JFR_DOUBLE;
        f.note = is_percent(w, c) ? KYMO_JFR_RATIO : KYMO_JFR_PLAIN;
    } else {
        f.note = (uint8_t)kymo_jfr_note_of_unit(kymo_profile_string(w->p, c->unit));
    }
    return f;
}

static kymo_err make_type(kymo_jfr *w, const kymo_counter *c, const kymo_jfr_type **out)
{
    kymo_jfr_type *type = kymo_arena_calloc(&w->arena, sizeof *type, _Alignof(kymo_jfr_type));
    kymo_jfr_field *fields =
        kymo_arena_calloc(&w->arena, FIELDS * sizeof *fields, _Alignof(kymo_jfr_field));
    const char *label = kymo_profile_string(w->p, c->name);
    const char *name = kymo_jfr_names_make(&w->type_names, &w->arena, "kymo.counter.", label);
    if (!type || !fields || !name)
        return KYMO_E_NOMEM;
    fields[0] = (kymo_jfr_field)KYMO_JFR_START;
    fields[1] = (kymo_jfr_field){.name = "pid", .type = KYMO_JFR_LONG};
    fields[2] = value_field(w, c);
    fields[3] = (kymo_jfr_field){.name = "operations", .type = KYMO_JFR_LONG};
    *type = (kymo_jfr_type){.name = name,
                            .id = w->type_count++,
                            .kind = KYMO_JFR_KIND_EVENT,
                            .field_count = FIELDS,
                            .fields = fields,
                            .label = *label ? label : NULL,
                            .description = text_or_null(w, c->description),
                            .category = {"Kymo", "Counters"}};
    const kymo_marker_category *category = kymo_profile_marker_category(w->p, c->category);
    if (category)
        type->category[2] = kymo_profile_string(w->p, category->name);
    *out = type;
    return KYMO_OK;
}

static int is_same(const kymo_counter *a, const kymo_counter *b)
{
    return a->name == b->name && a->unit == b->unit && a->description == b->description &&
           a->category == b->category && a->flags == b->flags;
}

/* Counters of one name in several processes share a type. */
static kymo_err find_type(kymo_jfr *w, kymo_index *index, uint32_t counter)
{
    const kymo_counter *c = &w->p->counters.data[counter];
    uint64_t key = c->name;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    uint32_t other;
    for (size_t probe = 0; kymo_index_find(index, hash, &probe, &other);)
        if (is_same(c, &w->p->counters.data[other])) {
            w->counter_types[counter] = w->counter_types[other];
            return KYMO_OK;
        }
    KYMO_TRY(make_type(w, c, &w->counter_types[counter]));
    return kymo_index_put(index, hash, counter);
}

kymo_err kymo_jfr_make_counter_types(kymo_jfr *w)
{
    kymo_index index = {0};
    kymo_err err = KYMO_OK;
    size_t count = w->p->counters.len;
    w->counter_types =
        kymo_arena_calloc(&w->arena, count * sizeof *w->counter_types, _Alignof(kymo_jfr_type *));
    if (!w->counter_types)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; err == KYMO_OK && i < count; i++)
        err = find_type(w, &index, i);
    kymo_index_deinit(&index);
    return err;
}

/* ---- a counter's values as a source ---- */

static int look(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_count_columns *counts = &w->p->counts.data[source->of];
    if (source->next >= counts->count)
        return 0;
    source->time_ns = kymo_since_origin(w->p, counts->time_ns[source->next]);
    return 1;
}

static void put(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_counter *c = &w->p->counters.data[source->of];
    const kymo_count_columns *counts = &w->p->counts.data[source->of];
    uint64_t i = source->next++;
    int64_t value = counts->value[i];
    double number = c->flags & KYMO_COUNTER_IS_F64 ? kymo_f64_of(value) : (double)value;
    size_t begin = kymo_jfr_begin(w, w->counter_types[source->of]);
    kymo_jfr_varint(&w->events, source->time_ns);
    kymo_jfr_varint(&w->events, (uint64_t)w->p->processes.data[c->process].pid);
    if (is_double(w, c))
        kymo_jfr_double(&w->events, is_percent(w, c) ? number / 100 : number);
    else
        kymo_jfr_varint(&w->events, (uint64_t)value);
    kymo_jfr_varint(&w->events, counts->operations[i]);
    kymo_jfr_end(w, begin);
}

const kymo_jfr_source_kind kymo_jfr_counters = {KYMO_TABLE_COUNTERS, look, put};
