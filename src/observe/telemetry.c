/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "kymo/marker_abi.h"
#include "memory/cgroup.h"
#include "memory/process.h"

/* Of the program: between the first look and the second; then twice that, up to the period. */
#define FIRST_PERIOD_NS 10000000u
/* Limits, which hardly change, are read at each of so many looks: they are a third of the cost. */
#define LIMITS_LOOKS 8u
/* Of the processes that it starts, by hundreds perhaps: until the first look, and to the second. */
#define YOUNG_NS 100000000u

/* What a track shows of its figure. */
enum how {
    VALUE, /* what it is */
    RATE,  /* how it grows */
    SHARE, /* a time in us that grows: its share of the time since the look before, in percent */
};

static const struct track {
    enum kymo_figure figure;
    enum how how;
    int is_shared; /* with other processes */
    uint32_t color;
    const char *unit, *name, *description;
} tracks[] = {
    {KYMO_FIGURE_RSS, VALUE, 0, KYMO_COLOR_ORANGE, "bytes", "Resident", "VmRSS"},
    {KYMO_FIGURE_RSS_ANON, VALUE, 0, KYMO_COLOR_ORANGE, "bytes", "Resident, anonymous", "RssAnon"},
    {KYMO_FIGURE_RSS_FILE, VALUE, 0, KYMO_COLOR_ORANGE, "bytes", "Resident, of files", "RssFile"},
    {KYMO_FIGURE_RSS_SHMEM, VALUE, 0, KYMO_COLOR_ORANGE, "bytes", "Resident, shared", "RssShmem"},
    {KYMO_FIGURE_SWAP, VALUE, 0, KYMO_COLOR_RED, "bytes", "Swapped", "VmSwap"},
    {KYMO_FIGURE_FAULTS_MINOR, RATE, 0, KYMO_COLOR_GREY, "", "Page faults", "minflt"},
    {KYMO_FIGURE_FAULTS_MAJOR, RATE, 0, KYMO_COLOR_RED, "", "Page faults from storage", "majflt"},
    {KYMO_FIGURE_IO_READ, RATE, 0, KYMO_COLOR_BLUE, "bytes", "Read from storage", "read_bytes"},
    {KYMO_FIGURE_IO_WRITE, RATE, 0, KYMO_COLOR_BLUE, "bytes", "Written to storage", "write_bytes"},
    {KYMO_FIGURE_THREADS, VALUE, 0, KYMO_COLOR_GREEN, "", "Threads", "Threads"},
    {KYMO_FIGURE_FDS, VALUE, 0, KYMO_COLOR_GREEN, "", "File descriptors", "/proc/PID/fd"},
    {KYMO_FIGURE_CGROUP_CURRENT, VALUE, 1, KYMO_COLOR_PURPLE, "bytes", "Cgroup", "memory.current"},
    {KYMO_FIGURE_CGROUP_WORKING_SET, VALUE, 1, KYMO_COLOR_PURPLE, "bytes", "Cgroup, working set",
     "memory.current without inactive_file"},
    {KYMO_FIGURE_CGROUP_LIMIT, VALUE, 1, KYMO_COLOR_RED, "bytes", "Cgroup, limit",
     "the least memory.max of the cgroup and of those above it"},
    {KYMO_FIGURE_CGROUP_EVENT_OOM_KILL, VALUE, 1, KYMO_COLOR_RED, "", "Cgroup, killed", "oom_kill"},
    {KYMO_FIGURE_PRESSURE_MEMORY_SOME_TOTAL, SHARE, 1, KYMO_COLOR_RED, "percent",
     "Pressure, memory", "/proc/pressure/memory, some"},
    {KYMO_FIGURE_PRESSURE_CPU_SOME_TOTAL, SHARE, 1, KYMO_COLOR_YELLOW, "percent", "Pressure, CPU",
     "/proc/pressure/cpu, some"},
    {KYMO_FIGURE_PRESSURE_IO_SOME_TOTAL, SHARE, 1, KYMO_COLOR_YELLOW, "percent", "Pressure, I/O",
     "/proc/pressure/io, some"},
};

/* What hardly changes, or only grows: told once, as it was last. */
static const struct info {
    enum kymo_figure figure;
    const char *key;
} infos[] = {
    {KYMO_FIGURE_RSS_PEAK, "process.rss_peak_bytes"},
    {KYMO_FIGURE_SIZE, "process.virtual_bytes"},
    {KYMO_FIGURE_SIZE_LIMIT, "process.virtual_limit_bytes"},
    {KYMO_FIGURE_PAGE_TABLES, "process.page_tables_bytes"},
    {KYMO_FIGURE_LOCKED, "process.locked_bytes"},
    {KYMO_FIGURE_HUGETLB, "process.hugetlb_bytes"},
    {KYMO_FIGURE_FDS_LIMIT, "process.fds_limit"},
    {KYMO_FIGURE_OOM_SCORE, "process.oom_score"},
    {KYMO_FIGURE_CGROUP_MAX, "cgroup.max_bytes"},
    {KYMO_FIGURE_CGROUP_HIGH, "cgroup.high_bytes"},
    {KYMO_FIGURE_CGROUP_PEAK, "cgroup.peak_bytes"},
    {KYMO_FIGURE_CGROUP_LIMIT, "cgroup.limit_bytes"},
    {KYMO_FIGURE_CGROUP_HEADROOM, "cgroup.headroom_bytes"},
    {KYMO_FIGURE_CGROUP_SWAP_MAX, "cgroup.swap_max_bytes"},
};

#define CATEGORY KYMO_TELEMETRY_FIRST
#define COUNTER_OF(track) (KYMO_TELEMETRY_FIRST + 1 + (uint32_t)(track))

/* Only the program has one. */
struct shared {
    struct kymo_cgroup_mounts mounts;
    struct kymo_cgroup_place place;
};

struct kymo_telemetry {
    struct kymo_telemetry_config config;
    uint32_t process;
    char name[16]; /* of /proc */
    struct shared *shared;
    int has_category;
    uint8_t is_told[KYMO_ARRAY_LEN(tracks)];  /* its counter */
    uint8_t has_base[KYMO_ARRAY_LEN(tracks)]; /* of what grows: what it was first */
    int64_t base[KYMO_ARRAY_LEN(tracks)];
    uint64_t step_ns, next_ns;
    uint32_t looks;
    uint64_t before_ns; /* of the look before; 0: this is the first */
    struct kymo_figures before;
    struct kymo_figures now;
    struct {
        uint64_t time_ns; /* 0: never read */
        int64_t value;
    } infos[KYMO_ARRAY_LEN(infos)];
};

kymo_err kymo_telemetry_create(const struct kymo_telemetry_config *config, pid_t pid,
                               uint32_t process, int is_program, uint64_t now_ns,
                               kymo_telemetry **out)
{
    kymo_telemetry *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    t->config = *config;
    t->process = process;
    t->step_ns = is_program ? FIRST_PERIOD_NS : YOUNG_NS;
    snprintf(t->name, sizeof t->name, "%d", (int)pid);
    t->next_ns = is_program ? now_ns : now_ns + YOUNG_NS;
    if (is_program) {
        t->shared = calloc(1, sizeof *t->shared);
        if (!t->shared) {
            free(t);
            return KYMO_E_NOMEM;
        }
        kymo_cgroup_read_mounts(&t->shared->mounts, config->root);
    }
    *out = t;
    return KYMO_OK;
}

void kymo_telemetry_destroy(kymo_telemetry *t)
{
    if (!t)
        return;
    free(t->shared);
    free(t);
}

/* ---- a look ---- */

static void look(kymo_telemetry *t)
{
    const char *root = t->config.root;
    int has_limits = t->looks++ % LIMITS_LOOKS == 0;
    memset(&t->now, 0, sizeof t->now);
    kymo_memory_read_use(&t->now, root, t->name);
    if (has_limits)
        kymo_memory_read_limits(&t->now, root, t->name);
    if (!t->shared)
        return;
    kymo_cgroup_look(&t->shared->place, &t->shared->mounts, root, t->name);
    kymo_cgroup_read_use(&t->now, &t->shared->place, root);
    if (has_limits)
        kymo_cgroup_read_limits(&t->now, &t->shared->place, root);
    kymo_memory_read_pressure(&t->now, root);
}

/* ---- what is told ---- */

static kymo_err tell_category(kymo_telemetry *t)
{
    kymo_event_marker_category e = {
        .process = t->process,
        .category = CATEGORY,
        .parent = KYMO_EVENT_NONE,
        .color = KYMO_COLOR_ORANGE,
        .name = "System",
    };
    if (t->has_category)
        return KYMO_OK;
    t->has_category = 1;
    return t->config.events->marker_category(t->config.context, &e);
}

static kymo_err tell_counter(kymo_telemetry *t, size_t i)
{
    KYMO_TRY(tell_category(t));
    kymo_event_counter e = {
        .process = t->process,
        .counter = COUNTER_OF(i),
        .category = CATEGORY,
        .kind = tracks[i].how == RATE ? KYMO_COUNTER_TOTAL : KYMO_COUNTER_GAUGE,
        .flags = KYMO_COUNTER_SYSTEM | (tracks[i].how == RATE ? KYMO_COUNTER_RATE : 0),
        .color = tracks[i].color,
        .name = tracks[i].name,
        .unit = tracks[i].unit,
        .description = tracks[i].description,
    };
    t->is_told[i] = 1;
    return t->config.events->counter(t->config.context, &e);
}

static kymo_err tell_count(kymo_telemetry *t, size_t i, uint64_t time_ns, int64_t value)
{
    kymo_event_count e = {t->process, COUNTER_OF(i), time_ns, value, 0};
    return t->config.events->count(t->config.context, &e);
}

/* What grows is counted from the first look on: what was before is not of this recording. Returns 0
 * where there is nothing to be said. */
static int value_of(kymo_telemetry *t, size_t i, uint64_t now_ns, int64_t *value)
{
    const struct track *track = &tracks[i];
    enum kymo_figure f = track->figure;
    if (!t->now.is_known[f])
        return 0;
    *value = t->now.value[f];
    if (track->how == RATE) {
        if (!t->has_base[i])
            t->base[i] = *value;
        t->has_base[i] = 1;
        *value -= t->base[i];
    }
    if (track->how != SHARE)
        return 1;
    uint64_t elapsed_us = (now_ns - t->before_ns) / 1000;
    if (!t->before_ns || !t->before.is_known[f] || elapsed_us == 0)
        return 0;
    int64_t grown_us = *value - t->before.value[f];
    grown_us = grown_us < 0 ? 0 : grown_us;
    *value =
        (uint64_t)grown_us < elapsed_us ? (int64_t)((uint64_t)grown_us * 100 / elapsed_us) : 100;
    return 1;
}

static kymo_err tell_track(kymo_telemetry *t, size_t i, uint64_t now_ns)
{
    int64_t value;
    if ((tracks[i].is_shared && !t->shared) || !value_of(t, i, now_ns, &value))
        return KYMO_OK;
    if (!t->is_told[i]) {
        if (value == 0)
            return KYMO_OK;
        KYMO_TRY(tell_counter(t, i));
        /* Only what was read then was 0 then. */
        if (t->before_ns && t->before.is_known[tracks[i].figure])
            KYMO_TRY(tell_count(t, i, t->before_ns, 0));
    }
    return tell_count(t, i, now_ns, value);
}

/* The last look at a process may come after its end. */
static void keep_infos(kymo_telemetry *t, uint64_t now_ns)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(infos); i++) {
        if (!t->now.is_known[infos[i].figure])
            continue;
        t->infos[i].time_ns = now_ns;
        t->infos[i].value = t->now.value[infos[i].figure];
    }
}

void kymo_telemetry_set_period(kymo_telemetry *t, uint64_t period_ns)
{
    if (!t)
        return;
    /* A look that was far away comes by the new period. */
    if (period_ns < t->config.period_ns)
        t->next_ns = 0;
    t->config.period_ns = t->step_ns = period_ns;
}

kymo_err kymo_telemetry_round(kymo_telemetry *t, uint64_t now_ns)
{
    if (!t || now_ns < t->next_ns)
        return KYMO_OK;
    t->step_ns = t->step_ns < t->config.period_ns ? t->step_ns : t->config.period_ns;
    t->next_ns = now_ns + t->step_ns;
    t->step_ns *= 2;
    look(t);
    keep_infos(t, now_ns);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(tracks); i++)
        KYMO_TRY(tell_track(t, i, now_ns));
    t->before = t->now;
    t->before_ns = now_ns;
    return KYMO_OK;
}

kymo_err kymo_telemetry_finish(kymo_telemetry *t)
{
    for (size_t i = 0; t && i < KYMO_ARRAY_LEN(infos); i++) {
        kymo_event_memory_info e = {
            .process = t->process,
            .time_ns = t->infos[i].time_ns,
            .value = t->infos[i].value > 0 ? (uint64_t)t->infos[i].value : 0,
            .key = infos[i].key,
        };
        if (e.time_ns)
            KYMO_TRY(t->config.events->memory_info(t->config.context, &e));
    }
    return KYMO_OK;
}
