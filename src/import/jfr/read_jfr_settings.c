/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_settings.c - events that are no samples: settings, the machine, libraries, processes.
 *
 * They are read before any sample, wherever in the file they are.
 */
#include <string.h>

#include "base/str.h"
#include "import/jfr/read_jfr.h"

static int is(kymo_jfr_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* ---- settings ---- */

/* "20 ms", of the JVM and of Kymo; a number alone is nanoseconds, of async-profiler. 0: none. */
static uint64_t period_of(kymo_jfr_text text)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"", 1},         {"ns", 1},         {"us", 1000},
                 {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}};
    size_t digits = 0;
    uint64_t value;
    uint64_t ns = 0;
    while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    size_t at = digits;
    while (at < text.len && text.data[at] == ' ')
        at++;
    const kymo_jfr_text unit = {text.data + at, text.len - at};
    if (kymo_parse_u64(text.data, digits, &value) != KYMO_OK)
        return 0;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(units); i++)
        if (is(unit, units[i].unit) && __builtin_mul_overflow(value, units[i].ns, &ns))
            ns = 0;
    return ns <= INT64_MAX ? ns : 0;
}

static unsigned event_of_id(const struct kymo_jfr_reader *r, uint64_t id)
{
    const uint32_t *at = kymo_key_map_find(&r->part.class_map, id);
    return at ? r->part.classes[*at].event : KYMO_JFR_EVENT_SKIPPED;
}

/* async-profiler's clocks; its other events are counted by themselves. */
static void take_event(struct kymo_jfr_reader *r, kymo_jfr_text value)
{
    r->has_cpu_event = is(value, "cpu") || is(value, "itimer") || is(value, "ctimer");
    r->is_wall_event = is(value, "wall");
    r->is_other_event = !r->has_cpu_event && !r->is_wall_event;
}

static kymo_err take_setting(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    char name_text[32];
    kymo_jfr_text name, value;
    unsigned event = event_of_id(r, kymo_jfr_number(row, KYMO_JFR_ROLE_ID));
    KYMO_TRY(kymo_jfr_row_text(r, row, KYMO_JFR_ROLE_NAME, &name));
    if (name.len > sizeof name_text)
        return KYMO_OK;
    memcpy(name_text, name.data, name.len);
    name.data = name_text; /* the next text may be decoded into the same place */
    KYMO_TRY(kymo_jfr_row_text(r, row, KYMO_JFR_ROLE_VALUE, &value));
    if (is(name, "period") && (r->is_kymo || event == KYMO_JFR_EVENT_EXECUTION))
        r->period_ns = period_of(value);
    else if (is(name, "period") && event == KYMO_JFR_EVENT_NATIVE)
        r->native_period_ns = period_of(value);
    else if (is(name, "interval") && event == KYMO_JFR_EVENT_EXECUTION)
        r->period_ns = period_of(value);
    else if (is(name, "wall") || is(name, "wallPeriod"))
        r->wall_period_ns = period_of(value);
    else if (is(name, "event"))
        take_event(r, value);
    else if (is(name, "product") || (is(name, "command") && !r->product))
        return kymo_import_string(r->d, value.data, value.len, &r->product);
    return KYMO_OK;
}

/* ---- processes, threads, libraries ---- */

static int32_t pid_of(const kymo_jfr_row *row)
{
    uint64_t pid = kymo_jfr_number(row, KYMO_JFR_ROLE_PID);
    return pid <= INT32_MAX ? (int32_t)pid : 0;
}

static kymo_err take_jvm(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    r->pid = pid_of(row);
    return kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_ARGUMENTS, &r->product);
}

static kymo_err take_process(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    uint32_t name, id;
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_NAME, &name));
    return kymo_import_process(r->d, pid_of(row),
                               name ? kymo_profile_string(r->d->profile, name) : NULL, &id);
}

/* What a map has for a key stays. */
static kymo_err put_once(struct kymo_jfr_reader *r, kymo_key_map *map, uint64_t key, uint32_t value)
{
    if (kymo_key_map_find(map, key))
        return KYMO_OK;
    KYMO_TRY(kymo_import_charge(r->d, 4 * sizeof(kymo_key_slot)));
    return kymo_key_map_put(map, key, value);
}

static kymo_err take_library(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    uint32_t path, name;
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_NAME, &path));
    const char *text = kymo_profile_string(r->d->profile, path);
    const char *slash = strrchr(text, '/');
    if (!slash || !slash[1])
        return KYMO_OK;
    KYMO_TRY(kymo_import_string(r->d, slash + 1, strlen(slash + 1), &name));
    return put_once(r, &r->libraries, name, path);
}

static kymo_err take_build_id(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    uint32_t path, id;
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_NAME, &path));
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_ID, &id));
    return put_once(r, &r->build_ids, path, id);
}

kymo_err kymo_jfr_take_setting(struct kymo_jfr_reader *r, unsigned event, const kymo_jfr_row *row)
{
    switch (event) {
    case KYMO_JFR_EVENT_SETTING:
        return take_setting(r, row);
    case KYMO_JFR_EVENT_JVM:
        return take_jvm(r, row);
    case KYMO_JFR_EVENT_SYSTEM:
        return kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_SYSTEM, &r->system);
    case KYMO_JFR_EVENT_CPU:
        return kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_CPU, &r->cpu);
    case KYMO_JFR_EVENT_LIBRARY:
        return take_library(r, row);
    case KYMO_JFR_EVENT_KYMO_BUILD_ID:
        return take_build_id(r, row);
    case KYMO_JFR_EVENT_KYMO_PROCESS:
        return take_process(r, row);
    case KYMO_JFR_EVENT_KYMO_THREAD:
        return put_once(r, &r->thread_pids, kymo_jfr_number(row, KYMO_JFR_ROLE_THREAD),
                        (uint32_t)pid_of(row));
    default:
        return KYMO_OK;
    }
}
