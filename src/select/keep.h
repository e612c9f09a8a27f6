/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - which rows of a profile a copy keeps.
 *
 * Layer:    select; above profile
 * Flow:     select.c -> [keep] -> copy*.c
 * Threads:  any
 * Memory:   the arrays are the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_SELECT_KEEP_H
#define KYMO_SELECT_KEEP_H

#include "kymo/profile.h"

/* Arrays have an entry for each row of their table: 1 keeps it. NULL keeps all. */
typedef struct kymo_keep {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC, both included; 0 and UINT64_MAX: all */
    const uint8_t *process;
    const uint8_t *thread;
    const uint8_t *stack;     /* of samples, allocations and mappings */
    int leaves_out_stackless; /* where there are stacks: rows without one go */
} kymo_keep;

#define KYMO_KEEP_ALL                     \
    {                                     \
        .from_ns = 0, .to_ns = UINT64_MAX \
    }

/* Whether rows of a kept thread may be left out. */
static inline int kymo_keep_is_cut(const kymo_keep *keep)
{
    return keep->from_ns > 0 || keep->to_ns < UINT64_MAX || keep->stack;
}

static inline int kymo_keep_has_time(const kymo_keep *keep, uint64_t time_ns)
{
    return time_ns >= keep->from_ns && time_ns <= keep->to_ns;
}

/* A row with a time and a stack. */
static inline int kymo_keep_has_row(const kymo_keep *keep, uint64_t time_ns, uint32_t stack)
{
    if (keep->stack && (stack == KYMO_NONE ? keep->leaves_out_stackless : !keep->stack[stack]))
        return 0;
    return kymo_keep_has_time(keep, time_ns);
}

/* A sample of a type that adds so (KYMO_ADDS_*). One of elapsed time lasts as long as its weight,
 * so the range may take a part of it: then time and weight become those of the part. */
static inline int kymo_keep_has_sample(const kymo_keep *keep, uint32_t adds, uint32_t stack,
                                       uint64_t *time_ns, uint64_t *weight)
{
    uint64_t from_ns = *time_ns > keep->from_ns ? *time_ns : keep->from_ns;
    uint64_t end_ns = *weight < UINT64_MAX - *time_ns ? *time_ns + *weight : UINT64_MAX;
    if (adds != KYMO_ADDS_ELAPSED || *weight == 0)
        return kymo_keep_has_row(keep, *time_ns, stack);
    if (keep->to_ns < UINT64_MAX && end_ns > keep->to_ns + 1)
        end_ns = keep->to_ns + 1;
    if (from_ns >= end_ns || !kymo_keep_has_row(keep, from_ns, stack))
        return 0;
    *time_ns = from_ns;
    *weight = end_ns - from_ns;
    return 1;
}

/* An instant by its time, an interval if it overlaps the range. */
static inline int kymo_keep_has_marker(const kymo_keep *keep, const kymo_marker *marker)
{
    if (marker->phase == KYMO_MARKER_UNFINISHED)
        return marker->start_ns <= keep->to_ns;
    if (marker->phase == KYMO_MARKER_UNBEGUN)
        return marker->end_ns >= keep->from_ns;
    return marker->start_ns <= keep->to_ns && marker->end_ns >= keep->from_ns;
}

static inline int kymo_keep_has_process(const kymo_keep *keep, uint32_t process)
{
    return !keep->process || keep->process[process];
}

static inline int kymo_keep_has_thread(const kymo_keep *keep, uint32_t thread)
{
    return !keep->thread || keep->thread[thread];
}

#endif
