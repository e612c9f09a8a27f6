/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/drain_state.h"

#include <time.h>

#define LEAST_STRETCH_NS 1000000u
/* Both clocks are read within that, unless something comes between; then they are read again. */
#define AT_ONCE_NS 2000u
#define TRIES 4

/* The best of some tries. Where others want the CPU, each may be interrupted: a pair that is wrong
 * by that would put the records of one round before those of another that they follow. */
static struct kymo_drain_anchor read_both(enum kymo_clock_kind kind)
{
    struct kymo_drain_anchor best = {0, 0};
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < TRIES && best_ns >= AT_ONCE_NS; i++) {
        uint64_t before_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        uint64_t clock = kymo_clock_now(kind);
        uint64_t ns = kymo_clock_ns(CLOCK_MONOTONIC);
        if (ns - before_ns >= best_ns)
            continue;
        best_ns = ns - before_ns;
        best = (struct kymo_drain_anchor){clock, ns};
    }
    if (kind == KYMO_CLOCK_MONOTONIC)
        best.clock = best.ns;
    return best;
}

void kymo_drain_clock_init(struct kymo_drain_clock *c, enum kymo_clock_kind kind)
{
    *c = (struct kymo_drain_clock){.kind = kind, .ns_per_tick = 1};
    c->last = c->now = read_both(kind);
    c->first_ns = c->now.ns;
}

void kymo_drain_clock_since(struct kymo_drain_clock *c, uint64_t earliest_ns)
{
    if (earliest_ns < c->first_ns)
        c->first_ns = earliest_ns;
}

void kymo_drain_clock_deinit(struct kymo_drain_clock *c)
{
    kymo_vec_deinit(&c->anchors);
}

void kymo_drain_clock_take(struct kymo_drain_clock *c)
{
    c->now = read_both(c->kind);
    if (c->kind != KYMO_CLOCK_MONOTONIC && c->now.clock > c->last.clock &&
        c->now.ns > c->last.ns + LEAST_STRETCH_NS)
        c->ns_per_tick = (double)(c->now.ns - c->last.ns) / (double)(c->now.clock - c->last.clock);
}

static void forget_every_second(struct kymo_drain_clock *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->anchors.len; i += 2)
        c->anchors.data[kept++] = c->anchors.data[i];
    c->anchors.len = kept;
}

void kymo_drain_clock_keep(struct kymo_drain_clock *c)
{
    if (c->now.ns <= c->last.ns + LEAST_STRETCH_NS)
        return;
    if (c->now.clock <= c->last.clock)
        c->anchors.len = 0; /* the counter began anew: nothing before is comparable */
    else if (c->anchors.len >= KYMO_DRAIN_ANCHORS)
        forget_every_second(c);
    /* Without memory for it, the times in between are a little less exact. */
    if (c->now.clock > c->last.clock)
        (void)!kymo_vec_push(&c->anchors, c->last);
    c->last = c->now;
}

/* By this ratio; not before 0. */
static uint64_t move(struct kymo_drain_anchor from, uint64_t clock, double ns_per_tick)
{
    const double most = 4e18;
    double ns = (double)(int64_t)(clock - from.clock) * ns_per_tick;
    int64_t moved = (int64_t)from.ns + (int64_t)(ns > most ? most : ns < -most ? -most : ns);
    return moved > 0 ? (uint64_t)moved : 0;
}

uint64_t kymo_drain_clock_any_ns(const struct kymo_drain_clock *c, uint64_t clock)
{
    if ((int64_t)(clock - c->last.clock) >= 0 || c->anchors.len == 0)
        return move(c->last, clock, c->ns_per_tick);
    /* The first anchor that lies behind it; the one of before it lies before. */
    size_t low = 0, high = c->anchors.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->anchors.data[middle].clock <= clock)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return move(c->anchors.data[0], clock, c->ns_per_tick);
    struct kymo_drain_anchor from = c->anchors.data[low - 1];
    struct kymo_drain_anchor to = low < c->anchors.len ? c->anchors.data[low] : c->last;
    return move(from, clock, (double)(to.ns - from.ns) / (double)(to.clock - from.clock));
}

/* Not before the first, nor in the future. */
static uint64_t within(const struct kymo_drain_clock *c, uint64_t ns)
{
    if (ns < c->first_ns)
        return c->first_ns;
    if (ns <= c->now.ns)
        return ns;
    /* Written since the round began. */
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    return ns < now_ns ? ns : now_ns;
}

uint64_t kymo_drain_clock_ns(const struct kymo_drain_clock *c, uint64_t clock)
{
    return within(c, kymo_drain_clock_any_ns(c, clock));
}

uint64_t kymo_drain_clock_ratio(const struct kymo_drain_clock *c, struct kymo_drain_anchor from,
                                struct kymo_drain_anchor to)
{
    double ns_per_tick = c->ns_per_tick;
    int is_long = to.ns > from.ns + LEAST_STRETCH_NS || c->anchors.len == 0;
    if (c->kind != KYMO_CLOCK_MONOTONIC && is_long && to.clock > from.clock && to.ns > from.ns)
        ns_per_tick = (double)(to.ns - from.ns) / (double)(to.clock - from.clock);
    return (uint64_t)(ns_per_tick * 4294967296.0);
}
