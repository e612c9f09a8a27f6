/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/allocator_events.h"

#include <stddef.h>
#include <stdio.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "kymo/marker_abi.h"

#define FIRST_PERIOD_NS 10000000u
#define PERIOD_NS 1000000000u
/* Limits what the questions cost (glibc walks over all free allocations). After an answer that
 * took this long, the next question waits at least SLOW_PERIOD_NS, and answers take at most
 * SLOW_SHARE of the time. The recorder waits at most as long for a thread that took a question
 * but did not answer: it may have ended. */
#define SLOW_NS 1000000u
#define SLOW_SHARE 1000u
#define SLOW_PERIOD_NS 10000000000u
#define SLOWEST_PERIOD_NS 600000000000u

/* Shown beside sums: the share of the allocator's memory that is not in allocations. */
#define FRAGMENTATION SIZE_MAX

static const struct counter {
    size_t offset; /* in struct kymo_allocator_sums */
    uint32_t color;
    const char *unit, *name, *description;
} counters[] = {
    {offsetof(struct kymo_allocator_sums, allocated), KYMO_COLOR_ORANGE, "bytes",
     "Allocator, in blocks", "what the allocator says that the program has"},
    {offsetof(struct kymo_allocator_sums, free), KYMO_COLOR_RED, "bytes", "Allocator, free",
     "in no block, and kept by the allocator"},
    {offsetof(struct kymo_allocator_sums, mapped), KYMO_COLOR_GREY, "bytes", "Allocator, taken",
     "from the system, and not given back"},
    {FRAGMENTATION, KYMO_COLOR_RED, "percent", "Allocator, fragmentation",
     "share of free in what is in blocks or free"},
};
#define CATEGORY_BIT KYMO_ARRAY_LEN(counters)

static int is_first(struct kymo_allocator_events *a, size_t bit)
{
    uint32_t before = a->told;
    a->told |= 1u << bit;
    return before != a->told;
}

static kymo_err tell_category(const struct kymo_allocator_events_look *look)
{
    kymo_event_marker_category e = {
        .process = look->process,
        .category = KYMO_ALLOCATOR_EVENTS_CATEGORY,
        .parent = KYMO_EVENT_NONE,
        .color = KYMO_COLOR_ORANGE,
        .name = "Memory",
    };
    return look->events->marker_category(look->context, &e);
}

static kymo_err tell_counter(const struct kymo_allocator_events_look *look, size_t i)
{
    kymo_event_counter e = {
        .process = look->process,
        .counter = KYMO_ALLOCATOR_EVENTS_COUNTER + (uint32_t)i,
        .category = KYMO_ALLOCATOR_EVENTS_CATEGORY,
        .kind = KYMO_COUNTER_GAUGE,
        .flags = KYMO_COUNTER_SYSTEM,
        .color = counters[i].color,
        .name = counters[i].name,
        .unit = counters[i].unit,
        .description = counters[i].description,
    };
    return look->events->counter(look->context, &e);
}

static int64_t value_of(const struct kymo_allocator_sums *sums, size_t i)
{
    if (counters[i].offset != FRAGMENTATION)
        return *(const int64_t *)(const void *)((const char *)sums + counters[i].offset);
    if (sums->allocated < 0 || sums->free < 0)
        return -1;
    double all = (double)sums->allocated + (double)sums->free;
    return all > 0 ? (int64_t)((double)sums->free * 100 / all + 0.5) : 0;
}

static kymo_err tell(struct kymo_allocator_events *a, const struct kymo_allocator_events_look *look)
{
    struct kymo_allocator_sums sums = kymo_allocator_answer_sums(&a->last);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(counters); i++) {
        int64_t value = value_of(&sums, i);
        if (value < 0)
            continue;
        if (is_first(a, CATEGORY_BIT))
            KYMO_TRY(tell_category(look));
        if (is_first(a, i))
            KYMO_TRY(tell_counter(look, i));
        kymo_event_count e = {look->process, KYMO_ALLOCATOR_EVENTS_COUNTER + (uint32_t)i,
                              a->last_ns, value, 0};
        KYMO_TRY(look->events->count(look->context, &e));
    }
    return KYMO_OK;
}

static uint64_t time_of(const struct kymo_allocator_events_look *look, uint64_t clock)
{
    return kymo_drain_time_ns(look->drain, clock);
}

static uint64_t pause_after(uint64_t took_ns)
{
    if (took_ns > SLOWEST_PERIOD_NS / SLOW_SHARE)
        return SLOWEST_PERIOD_NS;
    return took_ns > SLOW_PERIOD_NS / SLOW_SHARE ? took_ns * SLOW_SHARE : SLOW_PERIOD_NS;
}

/* Reads only the answer to the last question: however often the program writes there, there are
 * at most as many answers as questions. */
static kymo_err read(struct kymo_allocator_events *a, const struct kymo_allocator_events_look *look)
{
    struct kymo_allocator_answer answer;
    if (a->asked == a->last.number || !kymo_allocator_answer_read(look->session, &answer) ||
        answer.number != a->asked)
        return KYMO_OK;
    uint64_t time_ns = time_of(look, answer.clock);
    a->last = answer;
    a->last_ns = time_ns > a->last_ns ? time_ns : a->last_ns;
    uint64_t took_ns = time_ns - time_of(look, answer.clock - answer.took);
    if (took_ns > SLOW_NS)
        a->next_ns = a->asked_ns + pause_after(took_ns);
    return tell(a, look);
}

kymo_err kymo_allocator_events_round(struct kymo_allocator_events *a,
                                     const struct kymo_allocator_events_look *look, uint64_t now_ns)
{
    KYMO_TRY(read(a, look));
    int waits = a->asked != a->last.number;
    int is_taken = kymo_load_relaxed(&look->session->allocator_words.taken) == a->asked;
    if (now_ns < a->next_ns || (waits && !(is_taken && now_ns - a->asked_ns >= SLOW_PERIOD_NS)))
        return KYMO_OK;
    a->step_ns = a->step_ns ? a->step_ns * 2 : FIRST_PERIOD_NS;
    if (a->step_ns > PERIOD_NS)
        a->step_ns = PERIOD_NS;
    a->next_ns = now_ns + a->step_ns;
    a->asked_ns = now_ns;
    a->asked = a->asked + 1 ? a->asked + 1 : 1;
    kymo_store_relaxed(&look->session->allocator_wanted, a->asked);
    return KYMO_OK;
}

kymo_err kymo_allocator_events_finish(struct kymo_allocator_events *a,
                                      const struct kymo_allocator_events_look *look)
{
    KYMO_TRY(read(a, look));
    for (unsigned i = 0; a->last.number && i < KYMO_ALLOCATOR_WORD_COUNT; i++) {
        char key[64];
        if (!(a->last.known >> i & 1))
            continue;
        snprintf(key, sizeof key, "allocator.%s",
                 kymo_figure_rows[kymo_allocator_answer_figure(i)].name);
        kymo_event_memory_info e = {
            .process = look->process,
            .time_ns = a->last_ns,
            .value = (uint64_t)a->last.value[i],
            .key = key,
        };
        KYMO_TRY(look->events->memory_info(look->context, &e));
    }
    return KYMO_OK;
}
