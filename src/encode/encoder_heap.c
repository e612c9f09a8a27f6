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
    default:
        return KYMO_HEAP_LIVE;
    }
}

kymo_err kymo_encoder_heap_init(kymo_encoder_heap *view, const kymo_encoder *encoder)
{
    const kymo_encode_options *asked = encoder->options;
    kymo_heap_report_options options = {
        .size = sizeof options, .at_ns = KYMO_HEAP_END, .min_age_ns = KYMO_HEAP_AUTO};
    view->show = kymo_heap_shown(encoder);
    options.view = view_of(view->show);
    if (asked && asked->at_ns)
        options.at_ns = encoder->profile->meta.origin_monotonic_ns + asked->at_ns;
    if (asked && asked->min_age_ns)
        options.min_age_ns = asked->min_age_ns;
    if (asked)
        options.process = asked->process;
    return kymo_heap_select_init(&view->selection, encoder->profile, &options);
}

void kymo_encoder_heap_deinit(kymo_encoder_heap *view)
{
    kymo_heap_select_deinit(&view->selection);
}

void kymo_encoder_heap_add(const kymo_encoder_heap *view, uint32_t process, size_t row,
                           kymo_heap_amount *sum)
{
    struct kymo_estimate allocated;
    struct kymo_estimate live = kymo_heap_select_block(&view->selection, process, row, &allocated);
    sum->alloc_objects += allocated.objects;
    sum->alloc_bytes += allocated.bytes;
    sum->live_objects += live.objects;
    sum->live_bytes += live.bytes;
}

uint64_t kymo_round_next(double *sum, double value)
{
    double before = floor(*sum + 0.5);
    *sum += value;
    double now = floor(*sum + 0.5);
    return now > before ? (uint64_t)fmin(now - before, KYMO_ROUND_MAX) : 0;
}
