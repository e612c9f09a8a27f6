/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdlib.h>
#include <string.h>

static int is_valid(const kymo_profile *p, const kymo_marker *m, const kymo_value *values,
                    uint32_t count)
{
    if (m->thread >= p->threads.len || m->name >= p->strings.len || m->track >= p->strings.len ||
        !kymo_is_row_or_none(m->category, p->marker_categories.len) ||
        !kymo_is_row_or_none(m->schema, p->schemas.len) ||
        !kymo_is_row_or_none(m->stack, p->stack_frame.len) ||
        !kymo_is_row_or_none(m->labels, p->label_sets.len) || m->phase > KYMO_MARKER_UNBEGUN)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!kymo_profile_has_value(p, &values[i]))
            return 0;
    return 1;
}

/* Of two with the same start, the longer comes first: it may contain the other. */
static int is_before(const kymo_marker *a, const kymo_marker *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

kymo_err kymo_profile_add_marker(kymo_profile *profile, const kymo_marker *marker,
                                 const kymo_value *values)
{
    /* If all values are absent, none are stored: many types have fields that are rarely used. */
    uint32_t count = values && marker->schema < profile->schemas.len
                         ? profile->schemas.data[marker->schema].field_count
                         : 0;
    kymo_marker row = *marker;
    if (!is_valid(profile, marker, values, count))
        return KYMO_E_INVALID;
    if (profile->marker_count >= KYMO_MARKERS_MAX || count > KYMO_VALUES_MAX - profile->values.len)
        return KYMO_E_TOO_BIG;
    kymo_marker_rows *m = &profile->markers.data[row.thread];
    if (row.phase == KYMO_MARKER_UNBEGUN)
        row.start_ns = row.end_ns;
    else if (row.phase != KYMO_MARKER_INTERVAL || row.end_ns < row.start_ns)
        row.end_ns = row.start_ns;
    row.first_value = (uint32_t)profile->values.len;
    row.value_count = count;
    KYMO_TRY(kymo_vec_reserve(&profile->values, count));
    KYMO_TRY(kymo_vec_push(&m->rows, row));
    if (count > 0)
        memcpy(profile->values.data + row.first_value, values, count * sizeof *values);
    profile->values.len += count;
    if (m->rows.len > 1)
        m->unsorted |= is_before(&row, &m->rows.data[m->rows.len - 2]);
    profile->marker_count++;
    profile->finished = 0;
    return KYMO_OK;
}

kymo_markers kymo_profile_markers(const kymo_profile *profile, uint32_t thread)
{
    if (thread >= profile->markers.len)
        return (kymo_markers){0};
    return (kymo_markers){profile->markers.data[thread].rows.data,
                          profile->markers.data[thread].rows.len};
}

struct order {
    uint64_t start_ns;
    uint64_t end_ns;
    size_t from;
};

static int compare_order(const void *a, const void *b)
{
    const struct order *x = a;
    const struct order *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

kymo_err kymo_marker_rows_sort(kymo_marker_rows *m)
{
    size_t count = m->rows.len;
    if (!m->unsorted)
        return KYMO_OK;
    struct order *order = malloc(count * sizeof *order);
    kymo_marker *sorted = malloc(m->rows.cap * sizeof *sorted);
    if (!order || !sorted) {
        free(order);
        free(sorted);
        return KYMO_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (struct order){m->rows.data[i].start_ns, m->rows.data[i].end_ns, i};
    qsort(order, count, sizeof *order, compare_order);
    for (size_t i = 0; i < count; i++)
        sorted[i] = m->rows.data[order[i].from];
    free(order);
    free(m->rows.data);
    m->rows.data = sorted;
    m->unsorted = 0;
    return KYMO_OK;
}
