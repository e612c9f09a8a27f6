/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_processes.c - processes and threads begin, get names, and end; what each process lost.
 *
 * A row of the profile is made when a process or thread begins. Later facts are kept here until the
 * end, since the profile takes them in one call.
 */
#include "profile/ingest_state.h"

kymo_err kymo_ingest_on_process(void *ctx, const kymo_event_process *e)
{
    kymo_ingest *in = ctx;
    int is_main = e->is_main != 0 && in->main_process == KYMO_NONE;
    kymo_process row = {
        .size = sizeof row,
        .pid = e->pid,
        .parent_pid = e->parent_pid,
        .argc = e->argc,
        .argv = e->argv,
        .name = e->name,
        .start_ns = e->start_ns,
        .exit_status = -1,
        .is_main = (uint32_t)is_main,
    };
    uint32_t id;
    KYMO_TRY(kymo_profile_add_process(in->profile, &row, &id));
    if (id != e->process || id != in->processes.len)
        return KYMO_E_INVALID;
    if (is_main)
        in->main_process = id;
    kymo_ingest_see_time(in, e->start_ns);
    return kymo_vec_push(&in->processes, (struct kymo_ingest_process){.wait_status = -1});
}

kymo_err kymo_ingest_on_process_end(void *ctx, const kymo_event_process_end *e)
{
    kymo_ingest *in = ctx;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    struct kymo_ingest_process *p = &in->processes.data[e->process];
    p->end_ns = e->end_ns;
    p->cpu_ns = kymo_sum(e->user_ns, e->system_ns);
    p->wait_status = e->wait_status;
    kymo_ingest_see_time(in, e->end_ns);
    return KYMO_OK;
}

kymo_err kymo_ingest_on_thread(void *ctx, const kymo_event_thread *e)
{
    kymo_ingest *in = ctx;
    kymo_thread row = {
        .size = sizeof row,
        .process = e->process,
        .tid = e->tid,
        .name = e->name,
        .start_ns = e->start_ns,
    };
    uint32_t id;
    KYMO_TRY(kymo_profile_add_thread(in->profile, &row, &id));
    if (id != e->thread || id != in->threads.len)
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->start_ns);
    return kymo_vec_push(&in->threads, (struct kymo_ingest_thread){0});
}

kymo_err kymo_ingest_on_thread_name(void *ctx, const kymo_event_thread_name *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    return kymo_ingest_copy_text(in, e->name, &in->threads.data[e->thread].name);
}

kymo_err kymo_ingest_on_thread_end(void *ctx, const kymo_event_thread_end *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    struct kymo_ingest_thread *t = &in->threads.data[e->thread];
    t->end_ns = e->end_ns;
    t->cpu_ns = e->cpu_ns;
    t->tail_ns = e->cpu_tail_ns;
    t->by_tick = e->by_tick;
    kymo_ingest_see_time(in, e->end_ns);
    return KYMO_OK;
}

/* ---- sampling of a process ---- */

kymo_err kymo_ingest_on_loss(void *ctx, const kymo_event_loss *e)
{
    kymo_ingest *in = ctx;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    struct kymo_ingest_process *p = &in->processes.data[e->process];
    for (size_t i = 0; i < p->losses.len; i++) {
        if (p->losses.data[i].kind == e->kind) {
            p->losses.data[i].count = e->count;
            return KYMO_OK;
        }
    }
    /* There are about ten kinds of losses. Further ones, in a broken file, are ignored. */
    if (p->losses.len == KYMO_LOST_MAX)
        return KYMO_OK;
    struct kymo_ingest_loss loss = {.kind = e->kind, .count = e->count};
    KYMO_TRY(kymo_ingest_copy_text(in, e->name, &loss.name));
    return kymo_vec_push(&p->losses, loss);
}

kymo_err kymo_ingest_on_quality(void *ctx, const kymo_event_quality *e)
{
    kymo_ingest *in = ctx;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    in->processes.data[e->process].quality = *e;
    return KYMO_OK;
}

kymo_err kymo_ingest_on_dropped(void *ctx, const kymo_event_dropped *e)
{
    kymo_ingest *in = ctx;
    kymo_event_dropped *sum = &in->dropped;
    if (e->thread != KYMO_EVENT_NONE && e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    if (e->thread != KYMO_EVENT_NONE)
        in->threads.data[e->thread].dropped = *e;
    sum->ring_bytes = e->ring_bytes;
    sum->samples = kymo_sum(sum->samples, e->samples);
    sum->wall_samples = kymo_sum(sum->wall_samples, e->wall_samples);
    sum->wall_ns = kymo_sum(sum->wall_ns, e->wall_ns);
    sum->markers = kymo_sum(sum->markers, e->markers);
    sum->counts = kymo_sum(sum->counts, e->counts);
    sum->calls = kymo_sum(sum->calls, e->calls);
    return KYMO_OK;
}
