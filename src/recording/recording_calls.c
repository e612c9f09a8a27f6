/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/recording_calls.h"

#include "kymo/trace_abi.h"

int kymo_call_begins(uint32_t kind)
{
    return kind == KYMO_TRACE_CALL || kind == KYMO_TRACE_RESUME || kind == KYMO_TRACE_OPEN;
}

int kymo_call_ends(uint32_t kind)
{
    return kind == KYMO_TRACE_RETURN || kind == KYMO_TRACE_YIELD || kind == KYMO_TRACE_UNWIND;
}

/* Leaves the calls of this depth and deeper. */
static void leave(struct kymo_call_stack *s, uint32_t depth)
{
    if (depth == 0)
        depth = 1;
    if (depth - 1 < s->base || depth - 1 > kymo_call_stack_depth(s))
        kymo_call_stack_clear(s, depth - 1);
    else
        s->scripts.len = depth - 1 - s->base;
}

kymo_err kymo_call_stack_apply(struct kymo_call_stack *s, const kymo_event_call *e)
{
    if (kymo_call_begins(e->kind) || kymo_call_ends(e->kind))
        leave(s, e->depth);
    if (kymo_call_begins(e->kind))
        return kymo_vec_push(&s->scripts, e->script);
    if (e->kind == KYMO_TRACE_STOP)
        kymo_call_stack_clear(s, 0);
    return KYMO_OK;
}

void kymo_call_stack_deinit(struct kymo_call_stack *s)
{
    kymo_vec_deinit(&s->scripts);
}
