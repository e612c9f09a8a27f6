/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures.h - the figures of memory telemetry, as one table; which of them are known, and what they
 * are.
 *
 * Layer:    memory
 * Flow:     parsers of /proc and cgroup, allocators -> [figures] -> JSON, Prometheus, recorder
 * Threads:  any; an object has one owner at a time
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * What was not read is not there, which is something else than 0.
 */
#ifndef KYMO_MEMORY_FIGURES_H
#define KYMO_MEMORY_FIGURES_H

#include <stddef.h>
#include <stdint.h>

enum kymo_figure {
#define KYMO_FIGURE(ID, ...) KYMO_FIGURE_##ID,
#include "memory/figures.def"
#undef KYMO_FIGURE
    KYMO_FIGURE_COUNT
};

#define KYMO_FIGURE_GROUPS(X)             \
    X(PROCESS, "process")                 \
    X(IO, "io")                           \
    X(MAPS, "maps")                       \
    X(CGROUP, "cgroup")                   \
    X(CGROUP_STAT, "cgroup_stat")         \
    X(CGROUP_EVENTS, "cgroup_events")     \
    X(PRESSURE, "pressure")               \
    X(CGROUP_PRESSURE, "cgroup_pressure") \
    X(ALLOCATOR, "allocator")

enum kymo_figure_group {
#define X(NAME, text) KYMO_GROUP_##NAME,
    KYMO_FIGURE_GROUPS(X)
#undef X
        KYMO_GROUP_COUNT
};

/* What a value counts; Prometheus has it in seconds and as a share of 1. */
enum kymo_figure_unit {
    KYMO_FIGURE_BYTES,
    KYMO_FIGURE_COUNTS,
    KYMO_FIGURE_NS,
    KYMO_FIGURE_US,
    KYMO_FIGURE_PERCENT, /* hundredths of one */
};

struct kymo_figure_row {
    uint8_t group, unit, is_counter;
    const char *key, *key_v1, *name, *metric, *labels, *help;
};

extern const struct kymo_figure_row kymo_figure_rows[KYMO_FIGURE_COUNT];
/* As JSON has it. */
extern const char *const kymo_figure_group_names[KYMO_GROUP_COUNT];

struct kymo_figures {
    int64_t value[KYMO_FIGURE_COUNT];
    uint8_t is_known[KYMO_FIGURE_COUNT];
};

static inline void kymo_figures_set(struct kymo_figures *f, unsigned figure, int64_t value)
{
    f->value[figure] = value;
    f->is_known[figure] = 1;
}

/* The group's figure that a file calls by this name: in the first version of cgroups, or else.
 * It is looked for from *after on, which is then behind it, since files have them in this order.
 * Returns KYMO_FIGURE_COUNT for a name that is none. */
unsigned kymo_figure_find(enum kymo_figure_group group, int is_v1, const char *name, size_t len,
                          unsigned *after);

#endif
