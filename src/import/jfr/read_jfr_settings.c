/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_settings.c - events that are no samples: settings, the machine, libraries, processes.
 *
 * They are read before any sample, wherever in the file they are.
 */
#include <stdio.h>
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

/* ---- losses ---- */

kymo_err kymo_jfr_add_loss(struct kymo_jfr_reader *r, const char *kind, uint64_t count)
{
    kymo_jfr_loss loss = {.count = count};
    KYMO_TRY(kymo_import_string(r->d, kind, strlen(kind), &loss.kind));
    for (size_t i = 0; i < r->losses.len; i++)
        if (r->losses.data[i].kind == loss.kind) {
            uint64_t *sum = &r->losses.data[i].count;
            if (__builtin_add_overflow(*sum, count, sum))
                *sum = UINT64_MAX;
            return KYMO_OK;
        }
    return count == 0 || r->losses.len == KYMO_LOST_MAX ? KYMO_OK : kymo_vec_push(&r->losses, loss);
}

/* Kymo's "lost, REASON" is a number of records; other figures are not taken over. */
static kymo_err take_quality(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    static const char prefix[] = "lost, ";
    char kind[256];
    kymo_jfr_text name;
    double count = kymo_jfr_real(row, KYMO_JFR_ROLE_VALUE);
    KYMO_TRY(kymo_jfr_row_text(r, row, KYMO_JFR_ROLE_NAME, &name));
    if (name.len < sizeof prefix || memcmp(name.data, prefix, sizeof prefix - 1) != 0 ||
        !(count >= 1 && count < (double)INT64_MAX))
        return KYMO_OK;
    const char *text = name.data + sizeof prefix - 1;
    size_t len = name.len - (sizeof prefix - 1);
    int is_named = len > 9 && memcmp(text, "records (", 9) == 0; /* as a file of an import has it */
    snprintf(kind, sizeof kind, is_named ? "%.*s" : "records (%.*s)", (int)(len < 200 ? len : 200),
             text);
    return kymo_jfr_add_loss(r, kind, (uint64_t)count);
}

kymo_err kymo_jfr_say_losses(struct kymo_jfr_reader *r)
{
    kymo_lost lost[KYMO_LOST_MAX];
    kymo_quality quality = *kymo_profile_quality(r->d->profile);
    for (size_t i = 0; i < r->losses.len; i++)
        lost[i] = (kymo_lost){kymo_profile_string(r->d->profile, r->losses.data[i].kind),
                              r->losses.data[i].count};
    quality.lost = lost;
    quality.lost_count = (uint32_t)r->losses.len;
    return kymo_profile_set_quality(r->d->profile, &quality);
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
    case KYMO_JFR_EVENT_SAMPLES_LOST:
        return kymo_jfr_add_loss(r, "CPU samples that the JVM lost",
                                 kymo_jfr_number(row, KYMO_JFR_ROLE_LOST));
    case KYMO_JFR_EVENT_DATA_LOST:
        return kymo_jfr_add_loss(r, "bytes of events that the JVM lost",
                                 kymo_jfr_number(row, KYMO_JFR_ROLE_LOST));
    case KYMO_JFR_EVENT_KYMO_QUALITY:
        return take_quality(r, row);
    default:
        return KYMO_OK;
    }
}
