/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/encoder_heap.h"

#include <math.h>

uint32_t kymo_heap_shown(const kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    uint32_t show = encoder->options ? encoder->options->show : (uint32_t)KYMO_ENCODE_AUTO;
    if (show != KYMO_ENCODE_AUTO)
        return show;
    return p->sample_count == 0 && kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS) ? KYMO_ENCODE_LIVE
                                                                                 : KYMO_ENCODE_TIME;
}

static uint32_t view_of(uint32_t show)
{
    switch (show) {
    case KYMO_ENCODE_PEAK:
        return KYMO_HEAP_PEAK;
    case KYMO_ENCODE_LEAKS:
        return KYMO_HEAP_LEAKS;
    case KYMO_ENCODE_MAPPED:
        return KYMO_HEAP_MAPPED;
    default:
        return KYMO_HEAP_LIVE;
    }
}

static uint64_t moment_of(const kymo_profile *profile, uint64_t ns)
{
    return ns ? profile->meta.origin_monotonic_ns + ns : KYMO_HEAP_END;
}

kymo_err kymo_encoder_heap_init(kymo_encoder_heap *view, const kymo_encoder *encoder)
{
    const kymo_encode_options *asked = encoder->options;
    kymo_heap_report_options options = {
        .size = sizeof options, .at_ns = KYMO_HEAP_END, .min_age_ns = KYMO_HEAP_AUTO};
    *view = (kymo_encoder_heap){.show = kymo_heap_shown(encoder)};
    options.view = view_of(view->show);
    if (asked && asked->min_age_ns)
        options.min_age_ns = asked->min_age_ns;
    if (asked) {
        options.at_ns = moment_of(encoder->profile, asked->at_ns);
        options.process = asked->process;
        options.youngest_percent = asked->youngest_percent;
    }
    KYMO_TRY(kymo_heap_select_init(&view->selection, encoder->profile, &options));
    if (view->show != KYMO_ENCODE_GROWTH)
        return KYMO_OK;
    options.at_ns = moment_of(encoder->profile, asked->from_ns);
    kymo_err err = kymo_heap_select_init(&view->before, encoder->profile, &options);
    if (err != KYMO_OK)
        kymo_heap_select_deinit(&view->selection);
    view->has_before = 1;
    return err;
}

void kymo_encoder_heap_deinit(kymo_encoder_heap *view)
{
    kymo_heap_select_deinit(&view->selection);
    if (view->has_before)
        kymo_heap_select_deinit(&view->before);
}

kymo_encoder_block kymo_encoder_heap_block(const kymo_encoder_heap *view, uint32_t process,
                                           size_t row)
{
    const struct kymo_heap_table *t = &view->selection.tables[process];
    if (t->mappings) {
        const kymo_mapping *m = &t->mappings[row];
        return (kymo_encoder_block){m->thread, m->stack, KYMO_NONE, m->bytes, 1};
    }
    const kymo_allocation *a = &t->blocks[row];
    return (kymo_encoder_block){a->thread, a->stack, a->labels, a->bytes, a->weight};
}

static int was_before(const kymo_encoder_heap *view, const kymo_allocation *block)
{
    const kymo_heap_report_options *o = &view->before.options;
    return o->at_ns == KYMO_HEAP_END || block->time_ns <= o->at_ns;
}

/* Differences: allocated since, and how much more lives now. */
static void take_off(const kymo_encoder_heap *view, uint32_t process, size_t row,
                     struct kymo_estimate *live, struct kymo_estimate *allocated)
{
    struct kymo_estimate all;
    struct kymo_estimate before = kymo_heap_select_block(&view->before, process, row, &all);
    const kymo_allocation *block = &view->selection.tables[process].blocks[row];
    const kymo_heap_report_options *o = &view->selection.options;
    live->objects -= before.objects;
    live->bytes -= before.bytes;
    if (was_before(view, block) || (o->at_ns != KYMO_HEAP_END && block->time_ns > o->at_ns))
        *allocated = (struct kymo_estimate){0};
}

void kymo_encoder_heap_add(const kymo_encoder_heap *view, uint32_t process, size_t row,
                           kymo_heap_amount *sum)
{
    struct kymo_estimate allocated;
    struct kymo_estimate live =
        view->selection.tables[process].mappings
            ? kymo_heap_select_mapping(&view->selection, process, row, &allocated)
            : kymo_heap_select_block(&view->selection, process, row, &allocated);
    if (view->has_before)
        take_off(view, process, row, &live, &allocated);
    sum->alloc_objects += allocated.objects;
    sum->alloc_bytes += allocated.bytes;
    sum->live_objects += live.objects;
    sum->live_bytes += live.bytes;
}

int64_t kymo_round_next(double *sum, double value)
{
    double before = floor(*sum + 0.5);
    *sum += value;
    double change = floor(*sum + 0.5) - before;
    return (int64_t)fmax(-KYMO_ROUND_MAX, fmin(change, KYMO_ROUND_MAX));
}
