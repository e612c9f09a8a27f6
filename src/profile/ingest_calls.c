/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_calls.c - see ingest_calls.h.
 *
 * Depths are believed, order is not: a call at a depth where another one still runs ends that one,
 * a return of a call that never came changes nothing. Where events are missing the time until the
 * next one counts for a frame that says so, below the calls that ran before.
 */
#include "profile/ingest_calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "buffer/call_units.h"
#include "kymo/trace_abi.h"
#include "profile/ingest_state.h"
#include "profile/tables.h"

/* What is not a script, as the index of nodes calls it. */
#define UNKNOWN_SCRIPT UINT32_MAX
#define MISSING_SCRIPT (UINT32_MAX - 1)

/* ---- nodes ---- */

static kymo_err make_frame(kymo_ingest *in, uint32_t script, uint32_t *frame)
{
    if (script == MISSING_SCRIPT)
        return kymo_ingest_make_label(in, "[calls not recorded]", KYMO_CATEGORY_OTHER, frame);
    if (script >= in->scripts.len)
        return kymo_ingest_make_label(in, "[unknown function]", KYMO_CATEGORY_PYTHON, frame);
    const uint32_t id = in->scripts.data[script];
    const kymo_line line = {.function = id,
                            .line = kymo_profile_function(in->profile, id)->start_line};
    kymo_category category =
        in->native_scripts.data[script] ? KYMO_CATEGORY_LIBRARY : KYMO_CATEGORY_PYTHON;
    return kymo_profile_add_lines_frame(in->profile, &line, 1, category, frame);
}

static kymo_err make_node(kymo_ingest *in, uint32_t caller, uint32_t script, uint32_t *node)
{
    struct kymo_ingest_calls *c = &in->calls;
    struct kymo_ingest_call_node new = {.stack = KYMO_NONE, .counter = KYMO_NONE};
    uint32_t frame;
    uint32_t parent = caller == KYMO_NONE ? KYMO_NONE : c->nodes.data[caller].stack;
    KYMO_TRY(make_frame(in, script, &frame));
    KYMO_TRY(kymo_profile_add_stack(in->profile, parent, frame, &new.stack));
    KYMO_TRY(kymo_vec_push(&c->nodes, new));
    return kymo_id_map_add(&c->index, caller + 1, script, node);
}

/* The node of a function that is called from another node; KYMO_NONE: from nothing. Inlined: traced
 * calls come by the million. */
KYMO_INLINE kymo_err find_node(kymo_ingest *in, uint32_t caller, uint32_t script, uint32_t *node)
{
    struct kymo_ingest_calls *c = &in->calls;
    uint64_t key = (uint64_t)(caller + 1) << 32 | script;
    struct kymo_ingest_call_pair *pair = &c->recent[kymo_hash_mix(0, key) % KYMO_CALLS_RECENT];
    if (kymo_likely(pair->node && pair->key == key)) {
        *node = pair->node - 1;
        return KYMO_OK;
    }
    if (!kymo_id_map_find(&c->index, caller + 1, script, node))
        KYMO_TRY(make_node(in, caller, script, node));
    *pair = (struct kymo_ingest_call_pair){key, *node + 1};
    return KYMO_OK;
}

/* The node of a call; caller NULL: nothing that is known called it. */
KYMO_INLINE kymo_err find_callee(kymo_ingest *in, const struct kymo_ingest_open_call *caller,
                                 uint32_t script, uint32_t *node)
{
    if (!caller || !in->calls.folds || caller->script != script)
        return find_node(in, caller ? caller->node : KYMO_NONE, script, node);
    *node = caller->node;
    return KYMO_OK;
}

/* ---- counters ---- */

/* So many more calls of the node. */
static kymo_err count_calls(kymo_ingest *in, uint32_t thread, uint32_t node, uint64_t time_ns,
                            uint32_t calls)
{
    struct kymo_ingest_calls *c = &in->calls;
    uint32_t *at = &c->nodes.data[node].counter;
    if ((*at == KYMO_NONE || c->counters.data[*at].thread != thread) &&
        !kymo_id_map_find(&c->counter_index, thread, node, at)) {
        const struct kymo_ingest_call_counter new = {thread, node, 0, time_ns};
        KYMO_TRY(kymo_vec_push(&c->counters, new));
        KYMO_TRY(kymo_id_map_add(&c->counter_index, thread, node, at));
    }
    c->counters.data[*at].calls += calls;
    return KYMO_OK;
}

/* ---- slices ---- */

static kymo_err put_sample(kymo_ingest *in, uint32_t thread, uint64_t time_ns, uint32_t node,
                           uint64_t ns)
{
    if (ns == 0)
        return KYMO_OK;
    in->calls.rows++;
    return kymo_profile_add_sample(in->profile, thread, time_ns, in->calls.nodes.data[node].stack,
                                   ns, KYMO_SAMPLE_TRACE, KYMO_STATE_RUNNING);
}

/* So many events make a window. One that has as many different stacks as events saves nothing: the
 * windows grow while there are more rows than this part of the recording may have. */
static void grow_windows(struct kymo_ingest_calls *c)
{
    uint64_t expected = c->expected > c->events ? c->expected : c->events;
    if (c->rows > KYMO_CALLS_ROWS / 64 && c->per_window < 1u << 24 &&
        (double)c->rows > KYMO_CALLS_ROWS * ((double)c->events / (double)expected))
        c->per_window *= 2;
}

/* The slices of a window lie one behind the other, in the order of their first times. */
static kymo_err close_window(kymo_ingest *in, uint32_t thread)
{
    struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    uint64_t time_ns = t->begin_ns;
    grow_windows(&in->calls);
    for (size_t i = 0; i < t->slices.len; i++) {
        const struct kymo_ingest_call_slice s = t->slices.data[i];
        if (s.calls)
            KYMO_TRY(count_calls(in, thread, s.node, time_ns, s.calls));
        KYMO_TRY(put_sample(in, thread, time_ns, s.node, s.ns));
        time_ns += s.ns;
    }
    t->slices.len = 0;
    t->events = 0;
    t->window = 0;
    return KYMO_OK;
}

/* The node's slice in the window, valid until the next one is made. */
static inline kymo_err slice_of(kymo_ingest *in, struct kymo_ingest_call_thread *t, uint32_t node,
                                struct kymo_ingest_call_slice **slice)
{
    struct kymo_ingest_call_node *n = &in->calls.nodes.data[node];
    if (kymo_unlikely(n->window != t->window)) {
        n->window = t->window;
        n->place = (uint32_t)t->slices.len;
        KYMO_TRY(kymo_vec_push(&t->slices, (struct kymo_ingest_call_slice){node, 0, 0}));
    }
    *slice = &t->slices.data[n->place];
    return KYMO_OK;
}

static kymo_err add_slice(kymo_ingest *in, struct kymo_ingest_call_thread *t, uint32_t node,
                          uint64_t time_ns, uint64_t ns)
{
    struct kymo_ingest_call_slice *slice;
    if (t->window == 0) {
        t->window = ++in->calls.windows;
        t->begin_ns = time_ns;
    }
    KYMO_TRY(slice_of(in, t, node, &slice));
    slice->ns += ns;
    return KYMO_OK;
}

/* The outermost call that is not settled will not be left out. */
static kymo_err settle(kymo_ingest *in, uint32_t thread)
{
    struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    struct kymo_ingest_open_call *call = &t->open.data[t->settled];
    const struct kymo_ingest_open_call *caller = t->settled ? call - 1 : NULL;
    KYMO_TRY(find_callee(in, caller, call->script, &call->node));
    t->settled++;
    if (call->is_counted)
        KYMO_TRY(count_calls(in, thread, call->node, call->begin_ns, 1));
    return call->self_ns ? add_slice(in, t, call->node, call->self_from_ns, call->self_ns)
                         : KYMO_OK;
}

/* Self time of the call that runs. */
static kymo_err add_self(kymo_ingest *in, struct kymo_ingest_call_thread *t, uint64_t from_ns,
                         uint64_t ns)
{
    if (t->open.len == 0)
        return KYMO_OK;
    struct kymo_ingest_open_call *top = &t->open.data[t->open.len - 1];
    if (t->open.len == t->settled)
        return add_slice(in, t, top->node, from_ns, ns);
    if (top->self_ns == 0)
        top->self_from_ns = from_ns;
    top->self_ns += ns;
    return KYMO_OK;
}

/* The time up to now is self time of the call that runs. */
static kymo_err pass_time(kymo_ingest *in, uint32_t thread, uint64_t time_ns)
{
    struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    uint64_t before_ns = t->last_ns;
    if (time_ns < before_ns)
        return KYMO_OK;
    t->last_ns = time_ns;
    if (t->open.len == 0)
        return close_window(in, thread);
    KYMO_TRY(add_self(in, t, before_ns, time_ns - before_ns));
    while (t->settled < t->open.len &&
           time_ns - t->open.data[t->settled].begin_ns >= in->calls.min_ns)
        KYMO_TRY(settle(in, thread));
    return ++t->events < in->calls.per_window ? KYMO_OK : close_window(in, thread);
}

/* ---- events ---- */

/* Ends the calls of this depth and deeper. */
static kymo_err leave(kymo_ingest *in, uint32_t thread, uint32_t depth)
{
    struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    while (t->open.len && t->open.data[t->open.len - 1].depth >= depth) {
        const struct kymo_ingest_open_call call = t->open.data[--t->open.len];
        if (t->settled > t->open.len) {
            t->settled = t->open.len;
            continue;
        }
        in->calls.left_out++;
        if (call.self_ns)
            KYMO_TRY(add_self(in, t, call.self_from_ns, call.self_ns));
    }
    return KYMO_OK;
}

/* kind: of an event that begins a call. A call whose begin is not known (OPEN) is never left out:
 * nor is how long it took. */
static kymo_err enter(kymo_ingest *in, uint32_t thread, uint32_t script, uint32_t depth,
                      uint32_t kind)
{
    struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    const struct kymo_ingest_open_call call = {.script = script,
                                               .depth = depth,
                                               .node = KYMO_NONE,
                                               .is_counted = kind == KYMO_TRACE_CALL,
                                               .begin_ns = t->last_ns};
    KYMO_TRY(kymo_vec_push(&t->open, call));
    while (t->settled < t->open.len && (kind == KYMO_TRACE_OPEN || in->calls.min_ns == 0))
        KYMO_TRY(settle(in, thread));
    return KYMO_OK;
}

static kymo_err take_call(kymo_ingest *in, uint32_t thread, const kymo_event_call *e)
{
    const struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    uint32_t above = t->open.len ? t->open.data[t->open.len - 1].depth : 0;
    if (kymo_call_begins(e->kind)) {
        KYMO_TRY(leave(in, thread, e->depth));
        /* One frame stands for all the calls that are missing in between. */
        if (e->depth > above + 1)
            KYMO_TRY(enter(in, thread, MISSING_SCRIPT, e->depth - 1, KYMO_TRACE_OPEN));
        return enter(in, thread, e->script == KYMO_EVENT_NONE ? UNKNOWN_SCRIPT : e->script,
                     e->depth, e->kind);
    }
    if (kymo_call_ends(e->kind) || e->kind == KYMO_TRACE_STOP)
        return leave(in, thread, kymo_call_ends(e->kind) ? e->depth : 0);
    return KYMO_OK;
}

/* The time since the event before passed in calls that are not known. */
static kymo_err pass_gap(kymo_ingest *in, uint32_t thread, uint64_t time_ns)
{
    const struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    uint32_t depth = t->open.len ? t->open.data[t->open.len - 1].depth + 1 : 1;
    KYMO_TRY(enter(in, thread, MISSING_SCRIPT, depth, KYMO_TRACE_OPEN));
    KYMO_TRY(pass_time(in, thread, time_ns));
    return leave(in, thread, depth);
}

static struct kymo_ingest_process *process_of(const kymo_ingest *in, uint32_t thread)
{
    return &in->processes.data[kymo_profile_thread(in->profile, thread)->process];
}

static kymo_err take_event(kymo_ingest *in, uint32_t thread, const kymo_event_call *e)
{
    in->calls.events++;
    if (e->kind == KYMO_TRACE_GAP)
        KYMO_TRY(pass_gap(in, thread, e->time_ns));
    else
        KYMO_TRY(pass_time(in, thread, e->time_ns));
    KYMO_TRY(take_call(in, thread, e));
    if (e->kind == KYMO_TRACE_STOP && e->missing)
        process_of(in, thread)->trace_end_ns = e->time_ns;
    return KYMO_OK;
}

/* ---- the same for what is usual ----
 *
 * Most events are a call from the function that runs, or its end, with nothing missing, and no call
 * is left out. These need no more than what is here: a sixth of the instructions above. */

/* What the loop needs, which is in registers there. */
struct usual {
    struct kymo_ingest_open_call *first, *top; /* of the open calls */
    struct kymo_ingest_call_slice *slice;      /* of the call that runs */
    uint64_t last_ns;
};

static int ends_usually(const struct usual *u, const kymo_event_call *e)
{
    return kymo_call_ends(e->kind) && u->top->depth == e->depth && u->top > u->first;
}

static int begins_usually(const struct usual *u, const kymo_event_call *e)
{
    return e->kind < KYMO_TRACE_OPEN && u->top->depth + 1 == e->depth &&
           e->script != KYMO_EVENT_NONE;
}

static kymo_err begin_call(kymo_ingest *in, struct kymo_ingest_call_thread *t, struct usual *u,
                           const kymo_event_call *e)
{
    uint32_t node;
    KYMO_TRY(find_callee(in, u->top, e->script, &node));
    if (kymo_unlikely(u->top + 1 == t->open.data + t->open.cap)) {
        t->open.len = t->open.cap;
        KYMO_TRY(kymo_vec_reserve(&t->open, 1));
        u->top = t->open.data + (u->top - u->first);
        u->first = t->open.data;
    }
    /* What a settled call needs, member by member: a whole one would be made beside it, and copied
     * before the processor has it. */
    struct kymo_ingest_open_call *call = ++u->top;
    call->script = e->script;
    call->depth = e->depth;
    call->node = node;
    return KYMO_OK;
}

/* Takes the events from *at on, up to one that is not usual, or after which the window ends. */
static kymo_err take_usual(kymo_ingest *in, uint32_t thread, const kymo_event_calls *e,
                           uint32_t *at)
{
    struct kymo_ingest_call_thread *t = &in->calls.threads.data[thread];
    const kymo_event_call *call = e->calls + *at, *end = e->calls + e->count;
    if (in->calls.min_ns || t->open.len == 0 || t->window == 0)
        return KYMO_OK;
    if (end - call > (int64_t)in->calls.per_window - 1 - t->events)
        end = call + (in->calls.per_window - 1 - t->events);
    struct usual u = {t->open.data, &t->open.data[t->open.len - 1], NULL, t->last_ns};
    KYMO_TRY(slice_of(in, t, u.top->node, &u.slice));
    for (; call < end && call->time_ns >= u.last_ns; call++) {
        uint64_t ns = call->time_ns - u.last_ns;
        if (ends_usually(&u, call)) {
            u.slice->ns += ns;
            u.top--;
        } else if (begins_usually(&u, call)) {
            u.slice->ns += ns;
            KYMO_TRY(begin_call(in, t, &u, call));
        } else {
            break;
        }
        u.last_ns = call->time_ns;
        KYMO_TRY(slice_of(in, t, u.top->node, &u.slice));
        if (call->kind == KYMO_TRACE_CALL && u.slice->calls++ == 0)
            KYMO_TRY(count_calls(in, thread, u.slice->node, u.last_ns, 0));
    }
    uint32_t taken = (uint32_t)(call - e->calls) - *at;
    t->last_ns = u.last_ns;
    t->settled = t->open.len = (size_t)(u.top - u.first) + 1;
    t->events += taken;
    in->calls.events += taken;
    *at += taken;
    return KYMO_OK;
}

kymo_err kymo_ingest_on_calls(void *ctx, const kymo_event_calls *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_calls *c = &in->calls;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    if (c->per_window == 0) {
        kymo_profile_add_trace_types(in->profile);
        c->per_window = c->expected > KYMO_CALLS_ROWS ? 64 : 1;
    }
    while (c->threads.len <= e->thread)
        KYMO_TRY(kymo_vec_push(&c->threads, (struct kymo_ingest_call_thread){0}));
    for (uint32_t i = 0; i < e->count; i++) {
        KYMO_TRY(take_usual(in, e->thread, e, &i));
        if (i < e->count)
            KYMO_TRY(take_event(in, e->thread, &e->calls[i]));
    }
    if (e->count)
        kymo_ingest_see_time(in, e->calls[e->count - 1].time_ns);
    return KYMO_OK;
}

void kymo_ingest_shape_calls(kymo_ingest *in, uint64_t min_ns, int folds)
{
    in->calls.min_ns = min_ns;
    in->calls.folds = folds;
}

void kymo_ingest_expect_calls(kymo_ingest *in, uint64_t events)
{
    in->calls.expected = events;
}

/* ---- the end ---- */

static uint64_t end_of(const kymo_ingest *in, uint32_t thread)
{
    const struct kymo_ingest_process *p = process_of(in, thread);
    uint64_t end_ns = in->threads.data[thread].end_ns;
    if (end_ns == 0)
        end_ns = p->end_ns ? p->end_ns : in->meta.end_ns;
    /* The tracer may have come back after it went. */
    int has_stopped = p->trace_end_ns >= in->calls.threads.data[thread].last_ns;
    return has_stopped && p->trace_end_ns < end_ns ? p->trace_end_ns : end_ns;
}

static kymo_err tell_left_out(kymo_ingest *in)
{
    char text[128], shortest[32];
    if (in->calls.left_out == 0)
        return KYMO_OK;
    snprintf(text, sizeof text,
             "%" PRIu64 " traced call%s shorter than %s left out: their time is their callers'",
             in->calls.left_out, in->calls.left_out == 1 ? "" : "s",
             kymo_format_duration(shortest, in->calls.min_ns));
    return kymo_ingest_add_note(in, in->meta.end_ns, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text);
}

kymo_err kymo_ingest_finish_calls(kymo_ingest *in)
{
    for (uint32_t i = 0; i < in->calls.threads.len; i++) {
        KYMO_TRY(pass_time(in, i, end_of(in, i)));
        /* Whether a call that still runs was short is not known: it is not left out. */
        while (in->calls.threads.data[i].settled < in->calls.threads.data[i].open.len)
            KYMO_TRY(settle(in, i));
        KYMO_TRY(close_window(in, i));
    }
    KYMO_TRY(tell_left_out(in));
    for (size_t i = 0; i < in->calls.counters.len; i++) {
        const struct kymo_ingest_call_counter *c = &in->calls.counters.data[i];
        KYMO_TRY(kymo_profile_add_sample(in->profile, c->thread, c->first_ns,
                                         in->calls.nodes.data[c->node].stack, c->calls,
                                         KYMO_SAMPLE_CALLS, KYMO_STATE_RUNNING));
    }
    return KYMO_OK;
}

void kymo_ingest_calls_deinit(struct kymo_ingest_calls *c)
{
    for (size_t i = 0; i < c->threads.len; i++)
        kymo_vec_free_all(c->threads.data[i].open.data, c->threads.data[i].slices.data);
    kymo_id_map_deinit(&c->index);
    kymo_id_map_deinit(&c->counter_index);
    kymo_vec_free_all(c->nodes.data, c->threads.data, c->counters.data);
}
