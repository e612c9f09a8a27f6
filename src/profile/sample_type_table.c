/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "profile/tables.h"

static const kymo_sample_type of_recordings[] = {
    [KYMO_SAMPLE_CPU] = {.size = sizeof(kymo_sample_type),
                         .adds = KYMO_ADDS_CPU_TIME,
                         .name = "cpu",
                         .unit = "nanoseconds",
                         .count_name = "samples",
                         .period_name = "cpu",
                         .period_unit = "nanoseconds",
                         .is_default = 1},
    [KYMO_SAMPLE_WALL] = {.size = sizeof(kymo_sample_type),
                          .adds = KYMO_ADDS_ELAPSED,
                          .name = "wall",
                          .unit = "nanoseconds",
                          .period_name = "wall",
                          .period_unit = "nanoseconds",
                          .is_optional = 1},
    [KYMO_SAMPLE_TRACE] = {.size = sizeof(kymo_sample_type),
                           .adds = KYMO_ADDS_ELAPSED,
                           .name = "trace",
                           .unit = "nanoseconds",
                           .period_name = "trace",
                           .period_unit = "nanoseconds",
                           .is_optional = 1},
    [KYMO_SAMPLE_CALLS] = {.size = sizeof(kymo_sample_type),
                           .adds = KYMO_ADDS_AMOUNT,
                           .name = "calls",
                           .unit = "count",
                           .period_name = "calls",
                           .period_unit = "count",
                           .is_optional = 1},
};
static_assert(KYMO_ARRAY_LEN(of_recordings) == KYMO_SAMPLE_CALLS + 1, "a row for each");

void kymo_profile_init_sample_types(kymo_profile *profile)
{
    profile->sample_types = of_recordings;
    profile->sample_type_count = KYMO_SAMPLE_KIND_COUNT;
    profile->default_sample_type = KYMO_SAMPLE_CPU;
}

void kymo_profile_add_trace_types(kymo_profile *profile)
{
    if (profile->sample_types == of_recordings)
        profile->sample_type_count = KYMO_SAMPLE_CALLS + 1;
    profile->default_sample_type = KYMO_SAMPLE_TRACE;
}

/* What is wrong with row i; NULL: nothing. */
static const char *fault_of(const kymo_sample_type *types, uint32_t i)
{
    const kymo_sample_type *t = &types[i];
    if (t->size < sizeof *t || t->adds >= KYMO_ADDS_COUNT)
        return "has a wrong size or way to add up";
    if (!t->name || !*t->name || !t->unit || !*t->unit)
        return "has no name or no unit";
    if (t->adds != KYMO_ADDS_AMOUNT && strcmp(t->unit, "nanoseconds") != 0)
        return "is a time, and its unit is not nanoseconds";
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(types[k].name, t->name) == 0 || (types[k].is_default && t->is_default))
            return "has the name of another one, or is a second default";
    return NULL;
}

/* Copies a row. Of its texts only count_name may be NULL. */
static kymo_err copy_row(kymo_profile *p, const kymo_sample_type *in, kymo_sample_type *row)
{
    *row = *in;
    row->size = sizeof *row;
    KYMO_TRY(kymo_profile_intern(p, in->name, NULL, &row->name));
    KYMO_TRY(kymo_profile_intern(p, in->unit, NULL, &row->unit));
    if (in->count_name)
        KYMO_TRY(kymo_profile_intern(p, in->count_name, NULL, &row->count_name));
    KYMO_TRY(kymo_profile_intern(p, in->period_name ? in->period_name : in->name, NULL,
                                 &row->period_name));
    return kymo_profile_intern(p, in->period_unit ? in->period_unit : in->unit, NULL,
                               &row->period_unit);
}

kymo_err kymo_profile_set_sample_types(kymo_profile *profile, const kymo_sample_type *types,
                                       uint32_t count, kymo_error *detail)
{
    uint32_t chosen = 0;
    if (profile->sample_count > 0)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "the profile has samples already");
    if (count == 0 || count > KYMO_SAMPLE_TYPES_MAX)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%u sample types: there are 1 to %u",
                              count, KYMO_SAMPLE_TYPES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const char *fault = fault_of(types, i);
        if (fault)
            return kymo_error_set(detail, KYMO_E_INVALID, i, "sample type %u %s", i, fault);
        chosen = types[i].is_default ? i : chosen;
    }
    kymo_sample_type *rows =
        kymo_arena_calloc(&profile->arena, count * sizeof *rows, _Alignof(kymo_sample_type));
    kymo_err err = rows ? KYMO_OK : KYMO_E_NOMEM;
    for (uint32_t i = 0; err == KYMO_OK && i < count; i++)
        err = copy_row(profile, &types[i], &rows[i]);
    if (err != KYMO_OK)
        return kymo_error_set(detail, err, 0, "%s", kymo_err_text(err));
    profile->sample_types = rows;
    profile->sample_type_count = count;
    profile->default_sample_type = chosen;
    return KYMO_OK;
}

const kymo_sample_type *kymo_profile_sample_types(const kymo_profile *profile, uint32_t *count)
{
    *count = profile->sample_type_count;
    return profile->sample_types;
}

uint32_t kymo_profile_default_sample_type(const kymo_profile *profile)
{
    return profile->default_sample_type;
}
