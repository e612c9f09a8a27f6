/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_samples.c - samples become rows of their thread. The name of a wait becomes a frame.
 *
 * The newest CPU sample of each thread is held back: at the end it gets the CPU time that was used
 * after it (ingest_finish.c).
 */
#include "profile/ingest_state.h"

#include <assert.h>
#include <stdio.h>

#define WAIT_NAME_MAX 64 /* bytes shown of the name of a wait */

static_assert((int)KYMO_SAMPLE_CPU == 0 && (int)KYMO_SAMPLE_WALL == 1, "as in the file");
static_assert((int)KYMO_STATE_RUNNING == 1 && (int)KYMO_STATE_BLOCKED == 3, "as in the file");

kymo_err kymo_ingest_add_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s)
{
    uint32_t stack = kymo_ingest_stack_id(in, s->stack);
    return kymo_profile_add_sample(in->profile, thread, s->time_ns, stack, s->weight_ns,
                                   (kymo_sample_kind)s->kind, (kymo_thread_state)s->state);
}

kymo_err kymo_ingest_on_wait(void *ctx, const kymo_event_wait *e)
{
    kymo_ingest *in = ctx;
    const char *name;
    if (e->wait != in->waits.len + 1)
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_ingest_copy_text(in, e->name, &name));
    return kymo_vec_push(&in->waits, name);
}

/* The frame for a wait, placed where the frame of the running code would be. */
static kymo_err wait_frame(kymo_ingest *in, uint32_t wait, int blocked, uint32_t *frame)
{
    size_t at = 2 * (size_t)wait + (blocked != 0);
    while (in->wait_frames.len <= at)
        KYMO_TRY(kymo_vec_push(&in->wait_frames, KYMO_NONE));
    *frame = in->wait_frames.data[at];
    if (*frame != KYMO_NONE)
        return KYMO_OK;
    char text[WAIT_NAME_MAX + 16];
    const char *name = wait ? in->waits.data[wait - 1] : NULL;
    snprintf(text, sizeof text, "[%s%s%.*s]", blocked ? "blocked" : "waiting", name ? ": " : "",
             WAIT_NAME_MAX, name ? name : "");
    KYMO_TRY(kymo_ingest_make_label(in, text, KYMO_CATEGORY_WAITING, frame));
    in->wait_frames.data[at] = *frame;
    return KYMO_OK;
}

/* For a waiting thread, the wait is the innermost frame. */
static kymo_err add_wall_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s)
{
    uint32_t stack = kymo_ingest_stack_id(in, s->stack);
    struct kymo_ingest_thread *t = &in->threads.data[thread];
    in->wall_samples++;
    t->wall_ns = kymo_sum(t->wall_ns, s->weight_ns);
    t->stackless += s->state == KYMO_STATE_RUNNING && s->stack == KYMO_EVENT_NONE;
    if (s->state == KYMO_STATE_SLEEPING || s->state == KYMO_STATE_BLOCKED) {
        uint32_t frame;
        KYMO_TRY(wait_frame(in, s->wait, s->state == KYMO_STATE_BLOCKED, &frame));
        KYMO_TRY(kymo_profile_add_stack(in->profile, stack, frame, &stack));
    }
    return kymo_profile_add_sample(in->profile, thread, s->time_ns, stack, s->weight_ns,
                                   KYMO_SAMPLE_WALL, (kymo_thread_state)s->state);
}

/* It is told, not sampled. */
static int is_startup(const kymo_ingest *in, const kymo_event_sample *s)
{
    return s->kind == KYMO_SAMPLE_CPU && s->weight_ns > 0 && s->stack != KYMO_EVENT_NONE &&
           in->stacks.data[s->stack].id == in->startup_stack;
}

static kymo_err take_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s)
{
    if (s->kind > KYMO_SAMPLE_WALL || s->state >= KYMO_STATE_COUNT ||
        !kymo_ingest_has_stack(in, s->stack) || s->wait > in->waits.len)
        return KYMO_E_INVALID;
    struct kymo_ingest_thread *t = &in->threads.data[thread];
    if (is_startup(in, s) && t->startup_ns == 0) {
        kymo_ingest_see_time(in, s->time_ns);
        t->startup_ns = s->weight_ns;
        t->weight_ns = kymo_sum(t->weight_ns, s->weight_ns);
        return kymo_ingest_add_sample(in, thread, s);
    }
    in->samples++;
    if (s->stack != KYMO_EVENT_NONE) {
        in->complete_samples += in->stacks.data[s->stack].complete;
        in->python_samples += in->stacks.data[s->stack].has_python;
    }
    kymo_ingest_see_time(in, s->time_ns);
    if (s->kind != KYMO_SAMPLE_CPU)
        return add_wall_sample(in, thread, s);
    in->cpu_samples++;
    t->weight_ns = kymo_sum(t->weight_ns, s->weight_ns);
    t->unknown += s->weight_ns == 0;
    if (s->time_ns < t->held.time_ns)
        return kymo_ingest_add_sample(in, thread, s);
    if (t->held.time_ns != 0)
        KYMO_TRY(kymo_ingest_add_sample(in, thread, &t->held));
    t->held = *s;
    return KYMO_OK;
}

kymo_err kymo_ingest_on_samples(void *ctx, const kymo_event_samples *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    for (uint32_t i = 0; i < e->count; i++)
        KYMO_TRY(take_sample(in, e->thread, &e->samples[i]));
    return KYMO_OK;
}
