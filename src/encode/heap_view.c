/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/heap_view.h"

#include <math.h>
#include <stdlib.h>

/* What was born in the last tenth of a run has had no time to be freed. */
enum { LEAK_AGE_PARTS = 10 };

uint32_t kymo_heap_shown(const kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    uint32_t show = encoder->options ? encoder->options->show : (uint32_t)KYMO_SHOW_AUTO;
    if (show != KYMO_SHOW_AUTO)
        return show;
    return p->sample_count == 0 && kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS) ? KYMO_SHOW_LIVE
                                                                                 : KYMO_SHOW_TIME;
}

/* The last moment at which something is old enough to have leaked. */
static uint64_t leak_limit(const kymo_encoder *encoder, uint32_t process)
{
    const kymo_profile *p = encoder->profile;
    uint64_t start;
    uint64_t end;
    kymo_encoder_range(p, &start, &end);
    uint64_t age = encoder->options && encoder->options->min_age_ns
                       ? encoder->options->min_age_ns
                       : (end - start) / LEAK_AGE_PARTS;
    uint64_t last = p->processes.data[process].end_ns;
    if (last == 0)
        last = p->meta.origin_monotonic_ns + end;
    return last > age ? last - age : 0;
}

kymo_err kymo_heap_view_init(kymo_heap_view *view, const kymo_encoder *encoder, uint32_t process)
{
    kymo_heap_walk walk;
    uint64_t at = encoder->options ? encoder->options->at_ns : 0;
    *view = (kymo_heap_view){
        .show = kymo_heap_shown(encoder), .at_ns = KYMO_LIVES, .born_ns = UINT64_MAX};
    view->rows = kymo_profile_allocations(encoder->profile, process, &view->count);
    if (view->show == KYMO_SHOW_LIVE && at)
        view->at_ns = encoder->profile->meta.origin_monotonic_ns + at;
    if (view->show == KYMO_SHOW_LEAKS)
        view->born_ns = leak_limit(encoder, process);
    if (view->show == KYMO_SHOW_PEAK) {
        KYMO_TRY(kymo_heap_walk_init(&walk, view->rows, view->count));
        kymo_heap_walk_peak(&walk, &view->at_ns, &view->peak_bytes);
        kymo_heap_walk_deinit(&walk);
    }
    view->last = kymo_heap_last_weights(view->rows, view->count);
    return view->last ? KYMO_OK : KYMO_E_NOMEM;
}

void kymo_heap_view_deinit(kymo_heap_view *view)
{
    free(view->last);
    *view = (kymo_heap_view){0};
}

static int is_live(const kymo_heap_view *view, const kymo_allocation *row)
{
    return row->birth_ns <= view->born_ns &&
           (view->at_ns == KYMO_LIVES ? row->end_ns == KYMO_LIVES
                                      : kymo_allocation_lives_at(row, view->at_ns));
}

void kymo_heap_view_add(const kymo_heap_view *view, size_t i, kymo_heap_amount *sum)
{
    const kymo_allocation *row = &view->rows[i];
    uint64_t bytes;
    unsigned objects = kymo_allocation_adds(view->rows, i, &bytes);
    sum->alloc_objects += objects ? view->last[i] : 0;
    sum->alloc_bytes += view->last[i] * (double)bytes;
    if (is_live(view, row)) {
        sum->live_objects += row->weight;
        sum->live_bytes += row->weight * (double)row->bytes;
    }
}

uint64_t kymo_round_next(double *sum, double value)
{
    double before = floor(*sum + 0.5);
    *sum += value;
    double now = floor(*sum + 0.5);
    return now > before ? (uint64_t)(now - before) : 0;
}
