/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/schedule.h"

void kymo_schedule_start(struct kymo_schedule *s, uint64_t interval_ns, uint64_t now_ns)
{
    s->interval_ns = interval_ns;
    s->due_ns = now_ns + interval_ns;
}

void kymo_schedule_ended(struct kymo_schedule *s, uint64_t now_ns)
{
    const uint64_t least_ns = now_ns + s->interval_ns / 2;
    if (s->due_ns == 0) /* at once, as it was asked for */
        s->due_ns = now_ns;
    if (s->due_ns < least_ns)
        s->due_ns += (least_ns - s->due_ns + s->interval_ns - 1) / s->interval_ns * s->interval_ns;
}
