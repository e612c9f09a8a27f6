/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_markers.c - markers become rows of their thread. The ends of intervals are kept for
 * ingest_intervals.c.
 */
#include "profile/ingest_state.h"

#include <string.h>

#include "buffer/record.h"
#include "profile/tables.h"

static kymo_err keep_half(kymo_ingest *in, const kymo_event_marker *e, const kymo_marker *row)
{
    struct kymo_ingest_marks *m = &in->marks;
    struct kymo_ingest_half half = {
        .row = *row,
        .id = e->is_open ? 0 : e->id,
        /* an open interval has the last labels of the thread */
        .label_ns = e->is_open   ? UINT64_MAX
                    : e->made_ns ? e->made_ns
                                 : e->time_ns,
        .maker = e->made_ns ? e->maker : e->thread,
        .process = kymo_profile_thread(in->profile, e->thread)->process,
        .first_value = (uint32_t)m->half_values.len,
        .value_count = (uint32_t)m->values.len,
        .is_end = e->phase == KYMO_PHASE_END && !e->is_open,
    };
    if (m->half_values.len > KYMO_VALUES_MAX - m->values.len || m->halves.len >= KYMO_MARKERS_MAX)
        return KYMO_E_TOO_BIG;
    half.row.phase = half.is_end ? KYMO_MARKER_UNBEGUN : KYMO_MARKER_UNFINISHED;
    half.row.start_ns = e->is_open && e->start_ns ? e->start_ns : e->time_ns;
    half.row.end_ns = half.row.start_ns;
    for (size_t i = 0; i < m->values.len; i++)
        KYMO_TRY(kymo_vec_push(&m->half_values, m->values.data[i]));
    return kymo_vec_push(&m->halves, half);
}

static kymo_err add_row(kymo_ingest *in, const kymo_event_marker *e, const kymo_marker *row)
{
    struct kymo_ingest_marks *m = &in->marks;
    KYMO_TRY(kymo_profile_add_marker(in->profile, row, m->values.len ? m->values.data : NULL));
    if (e->made_ns == 0)
        return KYMO_OK;
    size_t last = in->profile->markers.data[e->thread].rows.len - 1;
    return kymo_vec_push(&m->elsewhere,
                         ((struct kymo_ingest_elsewhere){e->made_ns, e->maker, e->thread, last}));
}

static kymo_err add_marker(kymo_ingest *in, const kymo_event_marker *e)
{
    struct kymo_ingest_marks *m = &in->marks;
    struct kymo_ingest_site *site = &m->sites.data[e->site];
    KYMO_TRY(kymo_ingest_read_payload(in, site, e));
    kymo_marker row = {
        .start_ns = e->phase == KYMO_PHASE_INTERVAL ? e->start_ns : e->time_ns,
        .end_ns = e->time_ns,
        .owner = e->owner,
        .thread = e->thread,
        .name = site->name,
        .category = site->category,
        .schema = m->values.len || site->type != KYMO_NONE ? site->schema : KYMO_NONE,
        .stack = kymo_ingest_stack_id(in, e->stack),
        .labels = KYMO_NONE,
        .track = e->track == KYMO_EVENT_NONE ? 0 : m->tracks.data[e->track],
        .phase = e->phase == KYMO_PHASE_INTERVAL ? KYMO_MARKER_INTERVAL : KYMO_MARKER_INSTANT,
    };
    if (e->name)
        KYMO_TRY(kymo_ingest_add_name(in, e->name, &row.name));
    if (e->is_open || e->phase >= KYMO_PHASE_BEGIN)
        return keep_half(in, e, &row);
    return add_row(in, e, &row);
}

kymo_err kymo_ingest_on_marker(void *ctx, const kymo_event_marker *e)
{
    kymo_ingest *in = ctx;
    if (e->made_ns && e->maker != KYMO_EVENT_NONE && e->maker >= in->threads.len)
        return KYMO_E_INVALID;
    if (e->thread >= in->threads.len || e->site >= in->marks.sites.len ||
        e->phase > KYMO_PHASE_END || !kymo_ingest_has_stack(in, e->stack) ||
        (e->track != KYMO_EVENT_NONE && e->track >= in->marks.tracks.len))
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    if (in->skips_markers)
        return KYMO_OK;
    return kymo_ingest_leave_out(in, KYMO_INGEST_MARKERS, add_marker(in, e));
}
