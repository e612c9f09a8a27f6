/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_finish.c - what is known only at the end: weights, ends, figures, the names of code.
 *
 * The weights of a thread's CPU samples and its tail (the CPU time after the last sample) add up to
 * its CPU clock. The tail is added to the last sample, which ingest_samples.c held back until now.
 * A thread without samples has nothing to add the tail to: its time counts as not sampled. If
 * samples have weight 0, which means unknown (the thread could not read its clock), they get equal
 * shares of the tail: it is what the thread used since the last known weight.
 *
 * What a flight recorder dropped of a thread is a part of its CPU time, too. Dropped samples
 * without a weight take their share of the tail along. All ratios are of what remains.
 *
 * The timer engine samples the running thread at the kernel tick, the dispatch engine at its own
 * ticks. So each sample counts for the same time, and the CPU time since the last sample does not
 * say where the time went. In a loop that sleeps, the CPU time used before a sleep is added to the
 * first sample after it, which is usually late in the work or, with the kernel tick, directly after
 * the sleep. So weights are averaged over EVEN_SAMPLES neighbours; their sum stays the thread's CPU
 * clock.
 */
#include "profile/ingest_state.h"

#include <math.h>
#include <string.h>

#include "profile/tables.h"

/* 64 ms of a busy thread where the tick is 4 ms. */
#define EVEN_SAMPLES 16u

/* Sums over all threads and processes, for the quality. */
struct sums {
    uint64_t weight_ns;         /* of processes whose CPU time is known */
    uint64_t process_cpu_ns;    /* of the same processes, as wait4 gave it */
    uint64_t thread_cpu_ns;     /* of all threads */
    uint64_t tail_unsampled_ns; /* of threads without samples */
    uint64_t wall_ns;           /* weights of wall samples */
    uint64_t lived_ns;          /* time that all threads were recorded for */
    uint64_t dropped_ns;        /* CPU time of samples that a flight recorder dropped */
    uint64_t startup_ns;        /* CPU time before samples began */
    uint64_t stackless;         /* wall samples of running threads without CPU samples */
};

/* Sorts the samples of a thread and gives them their weights, whose sum is counted_ns by now. All
 * samples have been added. */
static kymo_err finish_weights(kymo_ingest *in, uint32_t id, uint64_t counted_ns)
{
    const struct kymo_ingest_thread *t = &in->threads.data[id];
    kymo_sample_columns *samples = &in->profile->samples.data[id];
    KYMO_TRY(kymo_sample_columns_sort(samples));
    if (t->unknown != 0)
        kymo_sample_columns_share(samples, t->tail_ns);
    if (counted_ns > t->fit_ns)
        kymo_sample_columns_scale(samples, in->startup_stack, kymo_less(counted_ns, t->startup_ns),
                                  kymo_less(t->fit_ns, t->startup_ns));
    int all_by_tick = in->meta.engine && strcmp(in->meta.engine, "perf") != 0;
    if (all_by_tick || t->by_tick)
        kymo_sample_columns_even_out(samples, in->startup_stack, EVEN_SAMPLES);
    return KYMO_OK;
}

/* CPU time of the samples that a flight recorder dropped: their weights, and their share of the
 * tail, which is subtracted from the tail. */
static uint64_t take_dropped(struct kymo_ingest_thread *t)
{
    uint64_t unknown = kymo_sum(t->unknown, t->dropped.unknown);
    uint64_t part_ns = 0;
    if (unknown)
        part_ns = (uint64_t)((unsigned __int128)t->tail_ns * t->dropped.unknown / unknown);
    else if (t->held.time_ns == 0 && t->dropped.samples)
        part_ns = t->tail_ns;
    t->tail_ns -= part_ns;
    return kymo_sum(t->dropped.weight_ns, part_ns);
}

static kymo_err finish_thread(kymo_ingest *in, uint32_t id, struct sums *sums)
{
    struct kymo_ingest_thread *t = &in->threads.data[id];
    kymo_thread row = *kymo_profile_thread(in->profile, id);
    row.dropped_ns = take_dropped(t);
    sums->dropped_ns = kymo_sum(sums->dropped_ns, row.dropped_ns);
    row.startup_ns = t->startup_ns;
    sums->startup_ns = kymo_sum(sums->startup_ns, row.startup_ns);
    const uint64_t counted_ns = t->weight_ns;
    t->weight_ns = t->fit_ns;
    if (t->held.time_ns != 0) {
        if (t->unknown == 0)
            t->held.weight_ns = kymo_sum(t->held.weight_ns, t->tail_ns);
        t->weight_ns = kymo_sum(t->weight_ns, t->tail_ns);
        KYMO_TRY(kymo_ingest_add_sample(in, id, &t->held));
    } else {
        sums->tail_unsampled_ns = kymo_sum(sums->tail_unsampled_ns, t->tail_ns);
        sums->stackless += t->dropped.samples ? 0 : t->stackless;
    }
    if (t->name != NULL)
        row.name = t->name;
    row.end_ns = t->end_ns;
    row.cpu_ns = t->cpu_ns != 0 ? t->cpu_ns : kymo_sum(t->weight_ns, row.dropped_ns);
    sums->thread_cpu_ns = kymo_sum(sums->thread_cpu_ns, row.cpu_ns);
    uint64_t end_ns = row.end_ns ? row.end_ns : in->meta.end_ns;
    sums->wall_ns = kymo_sum(sums->wall_ns, t->wall_ns);
    if (end_ns > row.start_ns && row.start_ns != 0)
        sums->lived_ns = kymo_sum(sums->lived_ns, end_ns - row.start_ns);
    /* If a process still ran at the end, the sum of its threads' clocks is used. */
    uint64_t process_ns = in->processes.data[row.process].cpu_ns;
    if (process_ns != 0 || t->cpu_ns != 0)
        sums->weight_ns = kymo_sum(sums->weight_ns, t->weight_ns);
    if (process_ns == 0)
        sums->process_cpu_ns = kymo_sum(sums->process_cpu_ns, t->cpu_ns);
    KYMO_TRY(kymo_profile_update_thread(in->profile, id, &row));
    return finish_weights(in, id, counted_ns);
}

static kymo_err finish_process(kymo_ingest *in, uint32_t id, struct sums *sums)
{
    const struct kymo_ingest_process *p = &in->processes.data[id];
    kymo_process row = *kymo_profile_process(in->profile, id);
    row.end_ns = p->end_ns;
    row.cpu_ns = p->cpu_ns;
    row.exit_status = p->wait_status;
    sums->process_cpu_ns = kymo_sum(sums->process_cpu_ns, p->cpu_ns);
    return kymo_profile_update_process(in->profile, id, &row);
}

/* The counts of all processes by the name of their kind; "other" counts those beyond the limit. */
static uint32_t sum_losses(const kymo_ingest *in, kymo_lost lost[KYMO_LOST_MAX])
{
    uint32_t count = 0;
    for (size_t i = 0; i < in->processes.len; i++) {
        const struct kymo_ingest_process *p = &in->processes.data[i];
        for (size_t j = 0; j < p->losses.len; j++) {
            const struct kymo_ingest_loss *loss = &p->losses.data[j];
            const char *name = loss->name != NULL ? loss->name : "other";
            uint32_t k = 0;
            if (loss->count == 0)
                continue;
            while (k < count && strcmp(lost[k].kind, name) != 0)
                k++;
            if (k == KYMO_LOST_MAX)
                lost[--k].kind = "other";
            if (k == count)
                lost[count++] = (kymo_lost){.kind = name};
            lost[k].count = kymo_sum(lost[k].count, loss->count);
        }
    }
    return count;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? NAN : (double)part / (double)whole;
}

static kymo_err finish_quality(kymo_ingest *in, const struct sums *sums)
{
    kymo_lost lost[KYMO_LOST_MAX];
    kymo_quality q = {
        .size = sizeof q,
        .lost_count = sum_losses(in, lost),
        .lost = lost,
        .samples = in->samples,
        .python_samples = in->python_samples,
        .stacks_complete = ratio(in->complete_samples, in->samples - sums->stackless),
        .frames_symbolized = NAN, /* set by the symbolizer */
        .cpu_unsampled_ns = sums->tail_unsampled_ns,
        .wall_samples = in->wall_samples,
        .wall_stackless = sums->stackless,
        .wall_achieved = in->meta.wall_period_ns
                             ? ratio(sums->wall_ns, kymo_less(sums->lived_ns, in->dropped.wall_ns))
                             : NAN,
        .ring_bytes = in->dropped.ring_bytes,
        .dropped_samples = in->dropped.samples,
        .dropped_ns = sums->dropped_ns,
        .dropped_wall_samples = in->dropped.wall_samples,
        .dropped_wall_ns = in->dropped.wall_ns,
        .dropped_markers = in->dropped.markers,
        .dropped_counts = in->dropped.counts,
        .dropped_calls = in->dropped.calls,
        .startup_ns = sums->startup_ns,
    };
    for (size_t i = 0; i < in->processes.len; i++) {
        const kymo_event_quality *p = &in->processes.data[i].quality;
        q.cpu_unsampled_ns = kymo_sum(q.cpu_unsampled_ns, p->cpu_unsampled_ns);
        q.disturbed = kymo_sum(q.disturbed, p->disturbed);
        q.handler_ns = kymo_sum(q.handler_ns, p->handler_ns);
        q.copied_samples = kymo_sum(q.copied_samples, p->copied);
    }
    /* Weights above the CPU time are as wrong as weights below it, so the ratio is the smaller
     * by the larger. */
    uint64_t cpu_ns = kymo_less(sums->process_cpu_ns, sums->dropped_ns);
    uint64_t thread_cpu_ns =
        kymo_less(sums->thread_cpu_ns, kymo_sum(sums->dropped_ns, sums->startup_ns));
    int over = sums->weight_ns > cpu_ns;
    q.achieved = cpu_ns == 0 ? NAN
                 : over      ? ratio(cpu_ns, sums->weight_ns)
                             : ratio(sums->weight_ns, cpu_ns);
    q.sampled_rate = NAN;
    if (in->meta.period_ns != 0 && thread_cpu_ns != 0) {
        /* More samples than expected are no better than all of them. */
        double asked = (double)thread_cpu_ns / (double)in->meta.period_ns;
        double taken = (double)in->cpu_samples;
        q.sampled_rate = taken < asked ? taken / asked : 1;
    }
    return kymo_profile_set_quality(in->profile, &q);
}

static kymo_err finish_meta(kymo_ingest *in)
{
    kymo_meta *meta = &in->meta;
    if (meta->size == 0)
        return KYMO_E_INVALID; /* there was no META event */
    if (in->main_process != KYMO_NONE) {
        uint64_t start_ns = kymo_profile_process(in->profile, in->main_process)->start_ns;
        /* An interval of a recording begins later. */
        if (start_ns > meta->origin_monotonic_ns) {
            meta->origin_realtime_ns += start_ns - meta->origin_monotonic_ns;
            meta->origin_monotonic_ns = start_ns;
        }
    }
    if (meta->end_ns == 0)
        meta->end_ns = in->last_ns;
    return kymo_profile_set_meta(in->profile, meta);
}

kymo_err kymo_ingest_finish(kymo_ingest *in)
{
    struct sums sums = {0};
    KYMO_TRY(finish_meta(in));
    KYMO_TRY(kymo_ingest_finish_calls(in));
    kymo_ingest_fit_weights(in);
    for (uint32_t i = 0; i < in->threads.len; i++)
        KYMO_TRY(finish_thread(in, i, &sums));
    for (uint32_t i = 0; i < in->processes.len; i++)
        KYMO_TRY(finish_process(in, i, &sums));
    KYMO_TRY(finish_quality(in, &sums));
    KYMO_TRY(kymo_ingest_join_blocks(in));
    KYMO_TRY(kymo_ingest_join_mappings(in));
    KYMO_TRY(kymo_ingest_finish_memory(in));
    KYMO_TRY(kymo_ingest_join_labels(in));
    KYMO_TRY(kymo_ingest_join_halves(in));
    KYMO_TRY(kymo_ingest_note_losses(in));
    KYMO_TRY(kymo_ingest_note_left_out(in));
    KYMO_TRY(kymo_ingest_thin_note(in));
    KYMO_TRY(kymo_profile_finish(in->profile));
    KYMO_TRY(kymo_code_map_apply(&in->code, in->profile));
    return kymo_stored_symbols_apply(&in->stored, in->profile);
}
