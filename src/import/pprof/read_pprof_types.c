/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pprof_types.c - what the values of samples are.
 *
 * Times become nanoseconds and sizes bytes, so that reports and encoders know them. Factors are
 * whole numbers: no value is rounded.
 */
#include <string.h>

#include "import/pprof/read_pprof.h"

struct unit {
    const char *name; /* without an s at its end */
    const char *becomes;
    uint64_t factor;
};

static const struct unit units[] = {
    {"nanosecond", "nanoseconds", 1},
    {"ns", "nanoseconds", 1},
    {"microsecond", "nanoseconds", 1000},
    {"us", "nanoseconds", 1000},
    {"millisecond", "nanoseconds", 1000000},
    {"ms", "nanoseconds", 1000000},
    {"second", "nanoseconds", 1000000000},
    {"s", "nanoseconds", 1000000000},
    {"byte", "bytes", 1},
    {"b", "bytes", 1},
    {"kilobyte", "bytes", 1024},
    {"kb", "bytes", 1024},
    {"megabyte", "bytes", 1048576},
    {"mb", "bytes", 1048576},
};

static const struct unit *find_unit(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(units); i++) {
        size_t own = strlen(units[i].name);
        if (strncmp(name, units[i].name, own) == 0 &&
            (len == own || (len == own + 1 && name[own] == 's')))
            return &units[i];
    }
    return NULL;
}

struct names {
    const char *type, *unit; /* of the profile; "" if the file has none */
};

static kymo_err read_names(struct kymo_pprof_reader *r, struct kymo_pprof_message message,
                           struct names *out)
{
    kymo_reader m = kymo_pprof_open(r, message);
    kymo_wire_field f;
    uint64_t indexes[] = {0, 0, 0};
    uint32_t type, unit;
    while (kymo_wire_next(&m, &f))
        if (f.number <= KYMO_WIRE_VALUE_UNIT && f.type == KYMO_WIRE_VARINT)
            indexes[f.number] = f.value;
    KYMO_TRY(kymo_pprof_ended(r, &m, message, "sample type"));
    KYMO_TRY(kymo_pprof_find_string(r, indexes[KYMO_WIRE_VALUE_TYPE], message.at, &type));
    KYMO_TRY(kymo_pprof_find_string(r, indexes[KYMO_WIRE_VALUE_UNIT], message.at, &unit));
    out->type = kymo_profile_string(r->d->profile, type);
    out->unit = kymo_profile_string(r->d->profile, unit);
    return KYMO_OK;
}

static kymo_err read_type(struct kymo_pprof_reader *r, kymo_sample_type *types, uint32_t at)
{
    struct names names;
    KYMO_TRY(read_names(r, r->sample_types[at], &names));
    const struct unit *unit = find_unit(names.unit);
    types[at] = (kymo_sample_type){.size = sizeof *types,
                                   .unit = unit          ? unit->becomes
                                           : *names.unit ? names.unit
                                                         : "count"};
    r->factors[at] = unit ? unit->factor : 1;
    types[at].name = *names.type ? names.type : "samples";
    return kymo_import_type_name(r->d, types, at, &types[at].name);
}

/* The one that the file names, else the last one, as go tool pprof has it. */
static kymo_err choose_shown(struct kymo_pprof_reader *r, const kymo_sample_type *types)
{
    uint32_t string;
    KYMO_TRY(kymo_pprof_find_string(r, r->default_sample_type, 0, &string));
    r->shown_type = r->type_count - 1;
    for (uint32_t i = 0; string && i < r->type_count; i++)
        if (strcmp(types[i].name, kymo_profile_string(r->d->profile, string)) == 0)
            r->shown_type = i;
    return KYMO_OK;
}

/* Only one time that is not CPU time adds up as such: several may be of the same seconds. */
static void say_how_they_add(struct kymo_pprof_reader *r, kymo_sample_type *types)
{
    for (uint32_t i = 0; i < r->type_count; i++) {
        if (strcmp(types[i].unit, "nanoseconds") != 0)
            continue;
        if (strcmp(types[i].name, "cpu") == 0)
            types[i].adds = KYMO_ADDS_CPU_TIME;
        else if (i == r->shown_type || strcmp(types[i].name, "wall") == 0)
            types[i].adds = KYMO_ADDS_ELAPSED;
    }
    r->shown_is_cpu = types[r->shown_type].adds == KYMO_ADDS_CPU_TIME;
    r->shown_is_time = strcmp(types[r->shown_type].unit, "nanoseconds") == 0;
    types[r->shown_type].is_default = 1;
}

kymo_err kymo_pprof_read_types(struct kymo_pprof_reader *r)
{
    kymo_sample_type types[KYMO_SAMPLE_TYPES_MAX] = {{0}};
    struct names period;
    if (r->type_count == 0)
        return kymo_import_fault(r->d, 0, "no sample type says what the values are");
    if (r->type_count > KYMO_SAMPLE_TYPES_MAX)
        return kymo_import_unsupported(r->d, 0, "%u sample types; at most %u are read",
                                       (unsigned)r->type_count, KYMO_SAMPLE_TYPES_MAX);
    for (uint32_t i = 0; i < r->type_count; i++)
        KYMO_TRY(read_type(r, types, i));
    KYMO_TRY(choose_shown(r, types));
    say_how_they_add(r, types);
    KYMO_TRY(read_names(r, r->period_type, &period));
    kymo_sample_type *shown = &types[r->shown_type];
    if (*period.type && *period.unit) {
        shown->period_name = period.type;
        shown->period_unit = period.unit;
    }
    shown->period = r->period <= INT64_MAX ? r->period : 0;
    return kymo_profile_set_sample_types(r->d->profile, types, r->type_count, r->d->detail);
}
