/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_markers.c - markers become rows of their thread; the ends of intervals find each other.
 *
 * An interval that begins and ends in two records has a number, which its ends share. They may be
 * of different threads, whose records come in any order; so ends are kept until all of them are
 * there, and are then taken by time. A number may be used again when its interval is over, and by
 * intervals of different names at once: an end is that of the latest beginning of its name, else of
 * the latest one.
 */
#include "profile/ingest_state.h"

#include <stdlib.h>
#include <string.h>

#include "buffer/record.h"
#include "profile/tables.h"

/* Open intervals of one number that are looked at; more have it only in a file made to be slow. */
#define OPEN_MAX 64u

static kymo_err keep_half(kymo_ingest *in, const kymo_event_marker *e, const kymo_marker *row)
{
    struct kymo_ingest_marks *m = &in->marks;
    struct kymo_ingest_half half = {
        .row = *row,
        .id = e->is_open ? 0 : e->id,
        /* What is open has what the thread had at last. */
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
        .stack = e->stack == KYMO_EVENT_NONE ? KYMO_NONE : in->stacks.data[e->stack].id,
        .labels = KYMO_NONE,
        .track = e->track == KYMO_EVENT_NONE ? 0 : m->tracks.data[e->track],
        .phase = e->phase == KYMO_PHASE_INTERVAL ? KYMO_MARKER_INTERVAL : KYMO_MARKER_INSTANT,
    };
    if (e->name)
        KYMO_TRY(kymo_ingest_add_text(in, e->name, strlen(e->name), &row.name));
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
        e->phase > KYMO_PHASE_END || (e->stack != KYMO_EVENT_NONE && e->stack >= in->stacks.len) ||
        (e->track != KYMO_EVENT_NONE && e->track >= in->marks.tracks.len))
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    return kymo_ingest_leave_out(in, KYMO_INGEST_MARKERS, add_marker(in, e));
}

/* ---- intervals ---- */

static int compare_halves(const void *a, const void *b)
{
    const struct kymo_ingest_half *x = *(struct kymo_ingest_half *const *)a;
    const struct kymo_ingest_half *y = *(struct kymo_ingest_half *const *)b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->row.start_ns != y->row.start_ns)
        return x->row.start_ns < y->row.start_ns ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? 1 : -1;
    return (x > y) - (x < y);
}

static kymo_err add_half(kymo_ingest *in, const struct kymo_ingest_half *half)
{
    const kymo_value *values =
        half->value_count ? in->marks.half_values.data + half->first_value : NULL;
    kymo_err err = kymo_profile_add_marker(in->profile, &half->row, values);
    return kymo_ingest_leave_out(in, KYMO_INGEST_MARKERS, err);
}

static kymo_value half_value(const struct kymo_ingest_marks *m, const struct kymo_ingest_half *half,
                             uint32_t i)
{
    static const kymo_value none = {.kind = KYMO_VALUE_NONE};
    return i < half->value_count ? m->half_values.data[half->first_value + i] : none;
}

/* What the end says of the interval counts; what it does not say is as it was at the beginning. */
static kymo_err add_whole(kymo_ingest *in, const struct kymo_ingest_half *begin,
                          const struct kymo_ingest_half *end)
{
    struct kymo_ingest_marks *m = &in->marks;
    kymo_marker row = begin->row;
    const struct kymo_ingest_half *from = end->row.schema != KYMO_NONE ? end : begin;
    uint32_t count = from->value_count;
    if (begin->row.schema == from->row.schema && begin->value_count > count)
        count = begin->value_count;
    row.phase = KYMO_MARKER_INTERVAL;
    row.end_ns = end->row.end_ns;
    row.schema = from->row.schema;
    if (row.stack == KYMO_NONE)
        row.stack = end->row.stack;
    if (row.track == 0)
        row.track = end->row.track;
    if (row.owner == 0)
        row.owner = end->row.owner;
    m->values.len = 0;
    for (uint32_t i = 0; i < count; i++) {
        kymo_value value = half_value(m, from, i);
        if (value.kind == KYMO_VALUE_NONE && begin->row.schema == row.schema)
            value = half_value(m, begin, i);
        KYMO_TRY(kymo_vec_push(&m->values, value));
    }
    kymo_err err = kymo_profile_add_marker(in->profile, &row, count ? m->values.data : NULL);
    return kymo_ingest_leave_out(in, KYMO_INGEST_MARKERS, err);
}

/* Takes the beginning of an end out of those that are open; NULL: it has none. */
static const struct kymo_ingest_half *take_begin(const struct kymo_ingest_half **open,
                                                 uint32_t *count,
                                                 const struct kymo_ingest_half *end)
{
    uint32_t at = *count;
    if (*count == 0)
        return NULL;
    while (at > 0 && open[at - 1]->row.name != end->row.name)
        at--;
    at = at ? at - 1 : *count - 1;
    const struct kymo_ingest_half *begin = open[at];
    for (--*count; at < *count; at++)
        open[at] = open[at + 1];
    return begin;
}

/* Halves of one process and number, by time. */
static kymo_err join_group(kymo_ingest *in, struct kymo_ingest_half *const *halves, size_t count)
{
    const struct kymo_ingest_half *open[OPEN_MAX];
    uint32_t open_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kymo_ingest_half *half = halves[i];
        if (half->is_end && half->id) {
            const struct kymo_ingest_half *begin = take_begin(open, &open_count, half);
            KYMO_TRY(begin ? add_whole(in, begin, half) : add_half(in, half));
        } else if (half->id == 0 || open_count == OPEN_MAX) {
            KYMO_TRY(add_half(in, half));
        } else {
            open[open_count++] = half;
        }
    }
    for (uint32_t i = 0; i < open_count; i++)
        KYMO_TRY(add_half(in, open[i]));
    return KYMO_OK;
}

static kymo_err join_sorted(kymo_ingest *in, struct kymo_ingest_half *const *halves, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (halves[end]->id != halves[first]->id ||
                halves[end]->process != halves[first]->process)
                break;
        KYMO_TRY(join_group(in, halves + first, end - first));
    }
    return KYMO_OK;
}

kymo_err kymo_ingest_join_halves(kymo_ingest *in)
{
    struct kymo_ingest_marks *m = &in->marks;
    if (m->halves.len == 0)
        return KYMO_OK;
    struct kymo_ingest_half **sorted = malloc(m->halves.len * sizeof(*sorted));
    if (!sorted)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < m->halves.len; i++)
        sorted[i] = &m->halves.data[i];
    qsort(sorted, m->halves.len, sizeof(*sorted), compare_halves);
    kymo_err err = join_sorted(in, sorted, m->halves.len);
    free(sorted);
    return err;
}
