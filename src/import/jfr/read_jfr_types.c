/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_types.c - which sample types a file has, from how many events of each kind there are.
 *
 * An event of execution is one sample, and stands for a period if the file says how long that is.
 */
#include <string.h>

#include "import/jfr/read_jfr.h"

/* async-profiler's, if "interval" is 0. */
#define DEFAULT_INTERVAL_NS 10000000u

struct types {
    struct kymo_jfr_reader *r;
    kymo_sample_type rows[KYMO_SAMPLE_TYPES_MAX];
};

static kymo_err add(struct types *t, kymo_sample_type type, uint32_t *place)
{
    uint32_t at = t->r->type_count;
    if (at == KYMO_SAMPLE_TYPES_MAX)
        return kymo_import_unsupported(t->r->d, 0, "more than %u sample types",
                                       KYMO_SAMPLE_TYPES_MAX);
    type.size = sizeof type;
    KYMO_TRY(kymo_import_type_name(t->r->d, t->rows, at, &type.name));
    t->rows[at] = type;
    *place = at;
    t->r->type_count++;
    return KYMO_OK;
}

/* CPU time, or elapsed time. */
static kymo_err add_time(struct types *t, const char *name, kymo_sample_adds adds, uint64_t period,
                         uint32_t *place)
{
    return add(t,
               (kymo_sample_type){.name = name,
                                  .unit = "nanoseconds",
                                  .adds = adds,
                                  .count_name = adds == KYMO_ADDS_CPU_TIME ? "samples" : NULL,
                                  .period = period},
               place);
}

static kymo_err add_amount(struct types *t, const char *name, const char *unit, uint32_t *place)
{
    return add(t, (kymo_sample_type){.name = name, .unit = unit}, place);
}

static uint64_t count_of(const struct types *t, kymo_jfr_event event)
{
    return t->r->counts[event];
}

/* ---- samples of execution ---- */

static kymo_err add_execution(struct types *t)
{
    struct kymo_jfr_reader *r = t->r;
    uint32_t *place = &r->types[KYMO_JFR_EVENT_EXECUTION];
    if (r->has_cpu_event && r->period_ns == 0)
        r->period_ns = DEFAULT_INTERVAL_NS;
    if (r->is_other_event)
        r->period_ns = 0;
    if (r->is_kymo || count_of(t, KYMO_JFR_EVENT_EXECUTION) == 0)
        return KYMO_OK;
    if (r->period_ns == 0)
        return add_amount(t, "samples", "count", place);
    if (r->is_wall_event)
        return add_time(t, "wall", KYMO_ADDS_ELAPSED, r->period_ns, place);
    return add_time(t, "cpu", KYMO_ADDS_CPU_TIME, r->period_ns, place);
}

static kymo_err add_wall(struct types *t)
{
    struct kymo_jfr_reader *r = t->r;
    kymo_jfr_event event = r->is_kymo ? KYMO_JFR_EVENT_KYMO_WALL_TIME : KYMO_JFR_EVENT_WALL;
    if (r->is_wall_event && r->wall_period_ns == 0)
        r->wall_period_ns = r->period_ns;
    if (count_of(t, event) == 0)
        return KYMO_OK;
    if (r->is_kymo || r->wall_period_ns)
        return add_time(t, "wall", KYMO_ADDS_ELAPSED, r->wall_period_ns, &r->types[event]);
    return add_amount(t, "wall", "count", &r->types[event]);
}

static kymo_err add_native(struct types *t)
{
    uint32_t *place = &t->r->types[KYMO_JFR_EVENT_NATIVE];
    if (count_of(t, KYMO_JFR_EVENT_NATIVE) == 0)
        return KYMO_OK;
    return add_amount(t, "native", t->r->native_period_ns ? "nanoseconds" : "count", place);
}

/* ---- memory ---- */

static kymo_err add_memory(struct types *t)
{
    struct kymo_jfr_reader *r = t->r;
    uint64_t java =
        count_of(t, KYMO_JFR_EVENT_ALLOCATION) + count_of(t, KYMO_JFR_EVENT_LIVE_OBJECT);
    if (count_of(t, KYMO_JFR_EVENT_ALLOCATION))
        KYMO_TRY(add_amount(t, "alloc_space", "bytes", &r->types[KYMO_JFR_EVENT_ALLOCATION]));
    if (count_of(t, KYMO_JFR_EVENT_LIVE_OBJECT))
        KYMO_TRY(add_amount(t, "inuse_space", "bytes", &r->types[KYMO_JFR_EVENT_LIVE_OBJECT]));
    if (count_of(t, KYMO_JFR_EVENT_MALLOC) == 0)
        return KYMO_OK;
    KYMO_TRY(add_amount(t, java ? "malloc_space" : "alloc_space", "bytes",
                        &r->types[KYMO_JFR_EVENT_MALLOC]));
    return add_amount(t, java ? "malloc_inuse_space" : "inuse_space", "bytes", &r->inuse_type);
}

/* ---- types of Kymo's files ---- */

static kymo_err add_own(struct types *t)
{
    const kymo_profile *p = t->r->d->profile;
    for (size_t i = 0; i < t->r->own_types.len; i++) {
        kymo_jfr_own_type *own = &t->r->own_types.data[i];
        const char *name = kymo_profile_string(p, own->name);
        const char *unit = kymo_profile_string(p, own->unit);
        if (!own->is_counter)
            KYMO_TRY(add_amount(t, *name ? name : "samples", *unit ? unit : "count", &own->place));
    }
    return KYMO_OK;
}

static uint32_t shown_of(const struct types *t)
{
    for (uint32_t i = 0; i < t->r->type_count; i++)
        if (t->rows[i].adds == KYMO_ADDS_CPU_TIME)
            return i;
    return 0;
}

kymo_err kymo_jfr_set_types(struct kymo_jfr_reader *r)
{
    struct types t = {.r = r};
    if (count_of(&t, KYMO_JFR_EVENT_KYMO_CPU_TIME))
        KYMO_TRY(add_time(&t, "cpu", KYMO_ADDS_CPU_TIME, r->period_ns,
                          &r->types[KYMO_JFR_EVENT_KYMO_CPU_TIME]));
    if (count_of(&t, KYMO_JFR_EVENT_CPU_TIME_SAMPLE))
        KYMO_TRY(
            add_time(&t, "cpu", KYMO_ADDS_CPU_TIME, 0, &r->types[KYMO_JFR_EVENT_CPU_TIME_SAMPLE]));
    KYMO_TRY(add_execution(&t));
    KYMO_TRY(add_wall(&t));
    KYMO_TRY(add_native(&t));
    KYMO_TRY(add_own(&t));
    KYMO_TRY(add_memory(&t));
    if (count_of(&t, KYMO_JFR_EVENT_LOCK))
        KYMO_TRY(add_amount(&t, "delay", "nanoseconds", &r->types[KYMO_JFR_EVENT_LOCK]));
    if (r->type_count == 0)
        KYMO_TRY(add_amount(&t, "samples", "count", &r->types[KYMO_JFR_EVENT_EXECUTION]));
    t.rows[shown_of(&t)].is_default = 1;
    return kymo_profile_set_sample_types(r->d->profile, t.rows, r->type_count, r->d->detail);
}

/* ---- classes of Kymo's own types ---- */

static const kymo_jfr_member *value_member(const kymo_jfr_part *part, const kymo_jfr_class *class)
{
    for (uint32_t i = 0; i < class->member_count; i++)
        if (part->members[class->first_member + i].role == KYMO_JFR_ROLE_VALUE)
            return &part->members[class->first_member + i];
    return NULL;
}

static kymo_err add_string(struct kymo_jfr_reader *r, kymo_jfr_text text, uint32_t *string)
{
    return kymo_import_string(r->d, text.len ? text.data : "", text.len, string);
}

kymo_err kymo_jfr_find_own_type(struct kymo_jfr_reader *r, const kymo_jfr_class *class,
                                uint32_t *place)
{
    const kymo_jfr_member *value = value_member(&r->part, class);
    kymo_jfr_own_type own = {.is_counter = class->event == KYMO_JFR_EVENT_KYMO_COUNTER};
    uint32_t key;
    KYMO_TRY(add_string(r, class->name, &key));
    const uint32_t *known = kymo_key_map_find(&r->own_type_map, key);
    *place = known ? *known : (uint32_t)r->own_types.len;
    if (known)
        return KYMO_OK;
    if (*place == KYMO_COUNTERS_MAX)
        return kymo_import_unsupported(r->d, r->part.metadata_at, "more than %u kinds of values",
                                       KYMO_COUNTERS_MAX);
    KYMO_TRY(add_string(r, class->label, &own.name));
    if (value)
        KYMO_TRY(add_string(r, value->label, &own.unit));
    KYMO_TRY(kymo_vec_push(&r->own_types, own));
    return kymo_key_map_put(&r->own_type_map, key, *place);
}
