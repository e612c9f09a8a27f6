/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_intervals.c - joins the two ends of each interval.
 *
 * An interval that begins and ends in two records has a number, which both ends carry. The ends may
 * be of different threads, whose records come in any order. So all ends are kept until the end of
 * the recording and then joined in order of time. A number may be used again after its interval has
 * ended, and by intervals of different names at the same time. So ends of the same name are joined
 * first, each with the latest begin. The rest is joined in the same way without regard to names,
 * since an end may have another name than its begin.
 *
 * Among begins with the same time as an end, the end takes an older one first: code that ends one
 * interval and begins the next one reads the clock once.
 */
#include "profile/ingest_state.h"

#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"

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

/* Fields of two types do not fit into one marker, so the begin becomes a separate marker. */
static kymo_err add_beginning(kymo_ingest *in, const struct kymo_ingest_half *begin)
{
    struct kymo_ingest_half alone = *begin;
    alone.row.phase = KYMO_MARKER_INSTANT;
    return add_half(in, &alone);
}

/* Values of the end take precedence; those that it lacks are taken from the begin. */
static kymo_err add_whole(kymo_ingest *in, const struct kymo_ingest_half *begin,
                          const struct kymo_ingest_half *end)
{
    struct kymo_ingest_marks *m = &in->marks;
    kymo_marker row = begin->row;
    const struct kymo_ingest_half *from = end->row.schema != KYMO_NONE ? end : begin;
    uint32_t count = from->value_count;
    if (begin->row.schema == from->row.schema && begin->value_count > count)
        count = begin->value_count;
    if (begin->row.schema != from->row.schema && begin->value_count > 0)
        KYMO_TRY(add_beginning(in, begin));
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

/* ---- which begin belongs to an end ---- */

static int compare_times(const void *a, const void *b)
{
    const struct kymo_ingest_half *x = *(struct kymo_ingest_half *const *)a;
    const struct kymo_ingest_half *y = *(struct kymo_ingest_half *const *)b;
    if (x->row.start_ns != y->row.start_ns)
        return x->row.start_ns < y->row.start_ns ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? 1 : -1;
    return (x > y) - (x < y);
}

static int compare_halves(const void *a, const void *b)
{
    const struct kymo_ingest_half *x = *(struct kymo_ingest_half *const *)a;
    const struct kymo_ingest_half *y = *(struct kymo_ingest_half *const *)b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->row.name != y->row.name)
        return x->row.name < y->row.name ? -1 : 1;
    return compare_times(a, b);
}

/* Begins that wait for their ends, by time. Those with the current time come after the older
 * ones. */
struct waiting {
    struct kymo_ingest_half **half;
    size_t earlier; /* number of older ones that are left */
    size_t now;     /* index of the first with the current time */
    size_t count;
};

/* Makes those with the current time older ones. */
static void go_on(struct waiting *w)
{
    memmove(w->half + w->earlier, w->half + w->now, (w->count - w->now) * sizeof(*w->half));
    w->count -= w->now - w->earlier;
    w->earlier = w->count;
    w->now = w->count;
}

static const struct kymo_ingest_half *take_begin(struct waiting *w)
{
    if (w->earlier > 0)
        return w->half[--w->earlier];
    return w->count > w->now ? w->half[--w->count] : NULL;
}

/* Joins halves in order of time; `room` has the same length. Halves without a partner, *left of
 * them, are moved to the front. */
static kymo_err join_run(kymo_ingest *in, struct kymo_ingest_half **halves, size_t count,
                         struct kymo_ingest_half **room, size_t *left)
{
    struct waiting waiting = {.half = room};
    uint64_t time_ns = 0;
    *left = 0;
    for (size_t i = 0; i < count; i++) {
        struct kymo_ingest_half *half = halves[i];
        if (half->row.start_ns != time_ns)
            go_on(&waiting);
        time_ns = half->row.start_ns;
        if (!half->is_end) {
            room[waiting.count++] = half;
            continue;
        }
        const struct kymo_ingest_half *begin = take_begin(&waiting);
        if (begin)
            KYMO_TRY(add_whole(in, begin, half));
        else
            halves[(*left)++] = half;
    }
    go_on(&waiting);
    for (size_t i = 0; i < waiting.count; i++)
        halves[(*left)++] = room[i];
    return KYMO_OK;
}

/* Joins the halves of one process and number; sorts them by name and time. */
static kymo_err join_group(kymo_ingest *in, struct kymo_ingest_half **halves, size_t count,
                           struct kymo_ingest_half **room)
{
    size_t alone = 0;
    size_t left;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (halves[end]->row.name != halves[first]->row.name)
                break;
        KYMO_TRY(join_run(in, halves + first, end - first, room, &left));
        memmove(halves + alone, halves + first, left * sizeof(*halves));
        alone += left;
    }
    qsort(halves, alone, sizeof(*halves), compare_times);
    KYMO_TRY(join_run(in, halves, alone, room, &left));
    for (size_t i = 0; i < left; i++)
        KYMO_TRY(add_half(in, halves[i]));
    return KYMO_OK;
}

static kymo_err join_sorted(kymo_ingest *in, struct kymo_ingest_half **halves, size_t count,
                            struct kymo_ingest_half **room)
{
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        if (halves[first]->id == 0) { /* it has no number */
            KYMO_TRY(add_half(in, halves[first]));
            continue;
        }
        while (end < count && halves[end]->id == halves[first]->id &&
               halves[end]->process == halves[first]->process)
            end++;
        KYMO_TRY(join_group(in, halves + first, end - first, room));
    }
    return KYMO_OK;
}

kymo_err kymo_ingest_join_halves(kymo_ingest *in)
{
    struct kymo_ingest_marks *m = &in->marks;
    size_t count = m->halves.len;
    if (count == 0)
        return KYMO_OK;
    struct kymo_ingest_half **sorted = malloc(2 * count * sizeof(*sorted));
    if (!sorted)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &m->halves.data[i];
    qsort(sorted, count, sizeof(*sorted), compare_halves);
    kymo_err err = join_sorted(in, sorted, count, sorted + count);
    free(sorted);
    return err;
}
