/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/wall_running.h"

#include <string.h>

/* Gives the oldest tick this stack. */
static kymo_err resolve(struct kymo_wall_running *r, uint32_t stack,
                        const struct kymo_python_task *task, const struct kymo_wall_sink *sink)
{
    kymo_event_sample s = {
        .time_ns = r->ticks[0].from_ns,
        .weight_ns = r->ticks[0].to_ns - r->ticks[0].from_ns,
        .stack = stack,
        .kind = 1,
        .state = 1,
    };
    memmove(r->ticks, r->ticks + 1, --r->n * sizeof *r->ticks);
    return sink->put(sink->context, &s, task);
}

/* The same of the last CPU sample, or none. */
static kymo_err resolve_by_last(struct kymo_wall_running *r, const struct kymo_wall_sink *sink)
{
    return r->cpu_time_ns ? resolve(r, r->cpu_stack, &r->cpu_task, sink)
                          : resolve(r, KYMO_EVENT_NONE, NULL, sink);
}

kymo_err kymo_wall_running_add(struct kymo_wall_running *r, uint64_t from_ns, uint64_t to_ns,
                               const struct kymo_wall_sink *sink)
{
    if (to_ns <= from_ns)
        return KYMO_OK;
    /* All that come before the first CPU sample get that one. */
    if (!r->cpu_time_ns && r->n > 0 && r->ticks[r->n - 1].to_ns == from_ns) {
        r->ticks[r->n - 1].to_ns = to_ns;
        return KYMO_OK;
    }
    if (r->n == KYMO_WALL_RUNNING_MAX)
        KYMO_TRY(resolve_by_last(r, sink));
    r->ticks[r->n].from_ns = from_ns;
    r->ticks[r->n++].to_ns = to_ns;
    return KYMO_OK;
}

kymo_err kymo_wall_running_last(struct kymo_wall_running *r, uint64_t from_ns, uint64_t to_ns,
                                const struct kymo_wall_sink *sink)
{
    if (r->n == 0 || to_ns <= from_ns || r->ticks[r->n - 1].to_ns != from_ns)
        return kymo_wall_running_add(r, from_ns, to_ns, sink);
    r->ticks[r->n - 1].to_ns = to_ns;
    return KYMO_OK;
}

kymo_err kymo_wall_running_sample(struct kymo_wall_running *r, uint64_t time_ns, uint32_t stack,
                                  const struct kymo_python_task *task,
                                  const struct kymo_wall_sink *sink)
{
    while (r->n > 0 && r->ticks[0].to_ns <= time_ns) {
        /* The one before the tick if it is nearer. */
        uint64_t tick_ns = r->ticks[0].to_ns;
        int before = r->cpu_time_ns && tick_ns - r->cpu_time_ns < time_ns - tick_ns;
        KYMO_TRY(before ? resolve_by_last(r, sink) : resolve(r, stack, task, sink));
    }
    r->cpu_time_ns = time_ns;
    r->cpu_stack = stack;
    r->cpu_task.bytes = 0;
    if (task)
        r->cpu_task = *task;
    return KYMO_OK;
}

kymo_err kymo_wall_running_flush(struct kymo_wall_running *r, uint64_t before_ns,
                                 const struct kymo_wall_sink *sink)
{
    while (r->cpu_time_ns && r->n > 0 && r->ticks[0].to_ns < before_ns)
        KYMO_TRY(resolve_by_last(r, sink));
    return KYMO_OK;
}

kymo_err kymo_wall_running_end(struct kymo_wall_running *r, const struct kymo_wall_sink *sink)
{
    while (r->n > 0)
        KYMO_TRY(resolve_by_last(r, sink));
    return KYMO_OK;
}
