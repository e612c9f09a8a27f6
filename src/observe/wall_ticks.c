/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/wall_ticks.h"

#include "base/hash.h"

/* When no thread has run for so many ticks, ticks come half as often: most of their cost is the
 * wake-up. */
#define STILL_TICKS 64u

void kymo_wall_ticks_init(struct kymo_wall_ticks *t, uint64_t period_ns, uint64_t seed)
{
    *t = (struct kymo_wall_ticks){.period_ns = period_ns, .random = seed};
}

void kymo_wall_ticks_set_period(struct kymo_wall_ticks *t, uint64_t period_ns, uint64_t now_ns)
{
    t->period_ns = period_ns;
    if (t->next_ns > now_ns + period_ns)
        t->next_ns = now_ns + period_ns;
}

static uint64_t draw(struct kymo_wall_ticks *t, uint64_t now_ns, uint64_t below_ns)
{
    t->random = kymo_hash_mix(t->random, now_ns);
    return below_ns ? t->random % below_ns : 0;
}

int kymo_wall_ticks_due(struct kymo_wall_ticks *t, uint64_t now_ns)
{
    if (now_ns < t->next_ns)
        return 0;
    uint64_t period_ns = t->still++ < STILL_TICKS ? t->period_ns : 2 * t->period_ns;
    t->last_ns = now_ns;
    t->next_ns = now_ns + period_ns / 2 + draw(t, now_ns, period_ns);
    return 1;
}

void kymo_wall_ticks_hasten(struct kymo_wall_ticks *t, uint64_t now_ns)
{
    uint64_t quarter_ns = t->period_ns / 4;
    uint64_t at_ns = now_ns + quarter_ns / 4 + draw(t, now_ns, quarter_ns);
    if (at_ns < t->last_ns + quarter_ns)
        at_ns = t->last_ns + quarter_ns;
    if (at_ns < t->next_ns)
        t->next_ns = at_ns;
}

void kymo_wall_ticks_moved(struct kymo_wall_ticks *t)
{
    t->still = 0;
}
