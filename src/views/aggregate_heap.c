/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each view is a selection of rows of the tables of allocations (heap_select.c). They are summed up
 * as estimates with variances. Variances add up like weights, since allocations are sampled
 * independently. Intervals are computed from the final sums.
 */
#include <assert.h>

#include "views/aggregate.h"

static kymo_heap_sum with_intervals(const kymo_report *r, const struct kymo_estimate *e,
                                    int takes_all_kinds)
{
    struct kymo_estimate_whole whole = r->selection.all;
    struct kymo_estimate_range objects, bytes;
    if (r->selection.options.view == KYMO_HEAP_MAPPED)
        whole.rate = 1; /* all mappings are recorded */
    kymo_estimate_objects(e, &whole, takes_all_kinds, &objects);
    kymo_estimate_bytes(e, &whole, &bytes);
    return (kymo_heap_sum){.objects = objects.value,
                           .objects_low = objects.low,
                           .objects_high = objects.high,
                           .objects_variance = e->variance_objects,
                           .bytes = bytes.value,
                           .bytes_low = bytes.low,
                           .bytes_high = bytes.high,
                           .bytes_variance = e->variance_bytes,
                           .samples = e->samples};
}

/* A row without a sample is not shown. */
static kymo_heap_sum of_row(const kymo_report *r, const struct kymo_estimate *e)
{
    return e->samples ? with_intervals(r, e, 0) : (kymo_heap_sum){0};
}

/* For all allocated memory: an exact count, or an estimate with intervals. */
static kymo_heap_sum of_all(const kymo_report *r)
{
    const struct kymo_estimate_whole *all = &r->selection.all;
    kymo_heap_sum sum = with_intervals(r, &all->sum, 1);
    if (all->objects > 0)
        sum.objects = sum.objects_low = sum.objects_high = all->objects;
    if (all->bytes > 0)
        sum.bytes = sum.bytes_low = sum.bytes_high = all->bytes;
    return sum;
}

static uint64_t whole_of(const kymo_report *r, const kymo_heap_sum *sum)
{
    double rank = kymo_heap_rank(r->totals.view, sum);
    return rank > 0 ? rank < 0x1p63 ? (uint64_t)rank : 1ull << 63 : 0;
}

static uint32_t bits_of(uint64_t bytes)
{
    return bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
}

/* ---- the measure ---- */

static void merge(void *sum, const void *other)
{
    kymo_estimate_merge(sum, other);
}

static uint32_t slot_of(const kymo_report *r, const struct kymo_heap_item *item)
{
    uint32_t slot = item->stack;
    uint32_t none = kymo_call_tree_slots(&r->tree);
    if (r->options.by == KYMO_BY_THREAD)
        slot = item->thread;
    else if (r->options.by == KYMO_BY_PROCESS)
        slot = item->process;
    else if (r->options.by == KYMO_BY_SIZE)
        slot = bits_of(item->size);
    return slot < none ? slot : none;
}

static int next(const kymo_report *r, struct kymo_report_cursor *at, uint32_t *slot,
                const void **sum)
{
    if (!kymo_heap_select_next(&r->selection, &at->heap, &at->item))
        return 0;
    *slot = slot_of(r, &at->item);
    *sum = &at->item.sum;
    return 1;
}

static struct kymo_report_shown show(const kymo_report *r, const void *self, const void *total,
                                     kymo_heap_sums *memory)
{
    *memory = (kymo_heap_sums){.self = of_row(r, self), .total = of_row(r, total)};
    return (struct kymo_report_shown){.self = whole_of(r, &memory->self),
                                      .total = whole_of(r, &memory->total),
                                      .self_part = kymo_heap_rank(r->totals.view, &memory->self),
                                      .total_part = kymo_heap_rank(r->totals.view, &memory->total)};
}

static kymo_err sum_lifetimes(kymo_report *r, const uint32_t *node_of)
{
    struct kymo_report_cursor at = {0};
    const void *sum;
    uint32_t slot;
    size_t n = r->tree.rows.len;
    if (r->totals.view != KYMO_HEAP_LIFETIMES)
        return KYMO_OK;
    r->lifetimes =
        kymo_arena_calloc(&r->tree.arena, (n + 1) * sizeof *r->lifetimes, _Alignof(double));
    if (!r->lifetimes)
        return KYMO_E_NOMEM;
    while (next(r, &at, &slot, &sum)) {
        uint32_t bucket = bits_of(at.item.life_ns);
        bucket = bucket ? bucket - 1 : 0;
        bucket = bucket < KYMO_LIFETIME_BUCKETS ? bucket : KYMO_LIFETIME_BUCKETS - 1;
        r->lifetimes[r->tree.nodes.data[node_of[slot]].row][bucket] += at.item.sum.objects;
        r->lifetimes[n][bucket] += at.item.sum.objects;
    }
    r->totals.lifetimes = r->lifetimes[n];
    return KYMO_OK;
}

static void put_totals(kymo_report *r)
{
    const struct kymo_heap_selection *s = &r->selection;
    kymo_heap_totals *t = &r->totals;
    t->size = sizeof *t;
    t->view = s->options.view;
    t->allocated = of_all(r);
    t->sum = t->view == KYMO_HEAP_ALLOC ? t->allocated : with_intervals(r, &s->sum, 1);
    t->young = of_row(r, &s->young);
    t->elsewhere = of_row(r, &s->elsewhere);
    t->at_ns = s->options.at_ns;
    t->min_age_ns = s->min_age_ns;
    for (uint32_t i = 0; i < kymo_profile_count(r->profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_heap *heap = kymo_profile_heap(r->profile, i);
        if (!heap || heap->rate == 0)
            continue;
        t->recorded++;
        t->rate = heap->rate > t->rate ? heap->rate : t->rate;
        t->lost += heap->lost;
        t->lost_frees += heap->lost_frees;
        t->is_partial |= heap->is_partial;
    }
    r->total = whole_of(r, &t->sum);
}

static const struct kymo_measure measure = {.size = sizeof(struct kymo_estimate),
                                            .merge = merge,
                                            .next = next,
                                            .show = show,
                                            .complete = sum_lifetimes};

#define OF_MEMORY(view_name, counted)                                                    \
    {                                                                                    \
        .size = sizeof(kymo_sample_type), .adds = KYMO_ADDS_AMOUNT, .name = (view_name), \
        .unit = "bytes", .count_name = (counted),                                        \
    }

static const kymo_sample_type types[] = {
    [KYMO_HEAP_ALLOC] = OF_MEMORY("alloc", "blocks"),
    [KYMO_HEAP_LIVE] = OF_MEMORY("live", "blocks"),
    [KYMO_HEAP_PEAK] = OF_MEMORY("peak", "blocks"),
    [KYMO_HEAP_LEAKS] = OF_MEMORY("leaks", "blocks"),
    [KYMO_HEAP_LIFETIMES] = OF_MEMORY("lifetimes", "blocks"),
    [KYMO_HEAP_TEMPORARY] = OF_MEMORY("temporary", "blocks"),
    [KYMO_HEAP_MAPPED] = OF_MEMORY("mapped", "mappings"),
};
static_assert(KYMO_ARRAY_LEN(types) == KYMO_HEAP_VIEW_COUNT, "a type for each view");

kymo_err kymo_heap_report_create(const kymo_profile *profile,
                                 const kymo_heap_report_options *options, kymo_report **out)
{
    kymo_heap_report_options o = {.size = sizeof o,
                                  .view = KYMO_HEAP_LIVE,
                                  .at_ns = KYMO_HEAP_END,
                                  .min_age_ns = KYMO_HEAP_AUTO};
    kymo_report *r;
    if (options && options->size < sizeof o)
        return KYMO_E_INVALID;
    if (options)
        o = *options;
    if (o.view >= KYMO_HEAP_VIEW_COUNT || (o.by >= KYMO_BY_COUNT && o.by != KYMO_BY_SIZE) ||
        o.youngest_percent > 100)
        return KYMO_E_INVALID;
    const kymo_report_options of_samples = {
        .size = sizeof of_samples, .by = o.by, .kind = KYMO_SAMPLE_DEFAULT};
    KYMO_TRY(kymo_report_begin(profile, &of_samples, &measure, &r));
    kymo_err err = kymo_heap_select_init(&r->selection, profile, &o);
    if (err != KYMO_OK) {
        kymo_report_destroy(r);
        return err;
    }
    put_totals(r);
    r->type = &types[o.view];
    r->is_memory = 1;
    r->tree.skips_allocators = !o.all_frames;
    return kymo_report_finish(r, out);
}

const kymo_heap_totals *kymo_heap_report_totals(const kymo_report *r)
{
    return r->is_memory ? &r->totals : NULL;
}
