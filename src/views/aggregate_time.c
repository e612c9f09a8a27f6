/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass sums up samples by slot and by thread. An item is a slot with a weight. Weights of a
 * damaged recording may have any value: sums saturate.
 */
#include <math.h>

#include "base/sum.h"
#include "views/aggregate.h"

static void merge(void *sum, const void *other)
{
    uint64_t *to = sum;
    *to = kymo_sum(*to, *(const uint64_t *)other);
}

static kymo_report_thread ratios_of(const kymo_report *r, kymo_report_thread t)
{
    uint32_t n;
    const kymo_thread *thread = kymo_profile_thread(r->profile, t.thread);
    double cpu_ns = (double)thread->cpu_ns - (double)thread->dropped_ns;
    double period_ns = (double)kymo_profile_meta(r->profile)->period_ns;
    int is_cpu =
        kymo_profile_sample_types(r->profile, &n)[r->options.kind].adds == KYMO_ADDS_CPU_TIME;
    int applies = is_cpu && cpu_ns > 0;
    t.achieved = applies ? (double)t.weight / cpu_ns : (double)NAN;
    if (is_cpu && thread->startup_ns && t.samples)
        t.samples--;
    cpu_ns -= (double)thread->startup_ns;
    t.sampled_rate = applies && period_ns > 0 && cpu_ns > 0 ? (double)t.samples * period_ns / cpu_ns
                                                            : (double)NAN;
    return t;
}

/* The slot of all samples of a thread; KYMO_NONE: each sample has its own. */
static uint32_t slot_of_thread(const kymo_report *r, uint32_t thread)
{
    if (r->options.by == KYMO_BY_PROCESS)
        return kymo_profile_thread(r->profile, thread)->process;
    return r->options.by == KYMO_BY_THREAD ? thread : KYMO_NONE;
}

kymo_err kymo_report_sum_samples(kymo_report *r)
{
    const uint32_t *order = kymo_profile_thread_order(r->profile);
    uint32_t n_slots = kymo_call_tree_slots(&r->tree);
    for (uint32_t i = 0; i < kymo_profile_count(r->profile, KYMO_TABLE_THREADS); i++) {
        kymo_samples s = kymo_profile_samples(r->profile, order[i]);
        kymo_report_thread t = {.thread = order[i]};
        uint32_t slot_of_all = slot_of_thread(r, order[i]);
        for (size_t k = 0; k < s.count; k++) {
            uint32_t slot = slot_of_all == KYMO_NONE ? s.stack[k] : slot_of_all;
            if (s.kind[k] != r->options.kind)
                continue;
            t.weight = kymo_sum(t.weight, s.weight_ns[k]);
            t.samples++;
            if (r->weights)
                merge(&r->weights[slot < n_slots ? slot : n_slots], &s.weight_ns[k]);
        }
        if (r->weights)
            merge(&r->total, &t.weight);
        KYMO_TRY(kymo_vec_push(&r->threads, ratios_of(r, t)));
    }
    return KYMO_OK;
}

/* ---- the measure ---- */

static int next(const kymo_report *r, struct kymo_report_cursor *at, uint32_t *slot,
                const void **sum)
{
    uint32_t n_slots = kymo_call_tree_slots(&r->tree);
    while (at->slot <= n_slots && r->weights[at->slot] == 0)
        at->slot++;
    if (at->slot > n_slots)
        return 0;
    *slot = at->slot++;
    *sum = &r->weights[*slot];
    return 1;
}

static struct kymo_report_shown show(const kymo_report *r, const void *self, const void *total,
                                     kymo_heap_sums *memory)
{
    (void)r;
    (void)memory;
    return (struct kymo_report_shown){.self = *(const uint64_t *)self,
                                      .total = *(const uint64_t *)total};
}

static const struct kymo_measure measure = {
    .size = sizeof(uint64_t), .merge = merge, .next = next, .show = show};

kymo_err kymo_report_create(const kymo_profile *profile, const kymo_report_options *options,
                            kymo_report **out)
{
    kymo_report_options o = {.size = sizeof o, .by = KYMO_BY_FUNCTION, .kind = KYMO_SAMPLE_DEFAULT};
    kymo_report *r;
    if (options && options->size < sizeof o)
        return KYMO_E_INVALID;
    if (options)
        o = *options;
    if (o.by >= KYMO_BY_COUNT)
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_report_begin(profile, &o, &measure, &r));
    r->weights =
        KYMO_CALL_TREE_SCRATCH(&r->tree, uint64_t, (size_t)kymo_call_tree_slots(&r->tree) + 1);
    if (r->weights)
        return kymo_report_finish(r, out);
    kymo_report_destroy(r);
    return KYMO_E_NOMEM;
}
