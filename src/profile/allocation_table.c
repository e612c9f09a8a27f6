/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation_table.c - the allocations of each process.
 *
 * Rows are added in any order and sorted at the end. `previous` names a row that was added before,
 * so a chain of resizes cannot be a cycle.
 */
#include "profile/tables.h"
#include "profile/time_order.h"

#include <math.h>
#include <stdlib.h>

static int is_valid(const kymo_profile *p, uint32_t process, const kymo_allocation *a, size_t rows)
{
    return process < p->processes.len && a->thread < p->threads.len &&
           kymo_is_row_or_none(a->end_thread, p->threads.len) &&
           kymo_is_row_or_none(a->stack, p->stack_frame.len) &&
           kymo_is_row_or_none(a->labels, p->label_sets.len) &&
           kymo_is_row_or_none(a->previous, rows) && a->family < KYMO_FAMILY_COUNT &&
           a->weight > 0 && isfinite(a->weight);
}

static kymo_err make_tables(kymo_profile *p)
{
    while (p->allocations.len < p->processes.len)
        KYMO_TRY(kymo_vec_push(&p->allocations, (kymo_allocation_rows){0}));
    return KYMO_OK;
}

kymo_err kymo_profile_add_allocation(kymo_profile *profile, uint32_t process,
                                     const kymo_allocation *allocation, uint32_t *row)
{
    KYMO_TRY(make_tables(profile));
    if (process >= profile->allocations.len)
        return KYMO_E_INVALID;
    kymo_allocation_rows *a = &profile->allocations.data[process];
    if (!is_valid(profile, process, allocation, a->rows.len))
        return KYMO_E_INVALID;
    if (profile->allocation_count >= KYMO_ALLOCATIONS_MAX)
        return KYMO_E_TOO_BIG;
    kymo_allocation copy = *allocation;
    if (copy.end_ns < copy.time_ns)
        copy.end_ns = copy.time_ns;
    if (copy.birth_ns > copy.time_ns)
        copy.birth_ns = copy.time_ns;
    KYMO_TRY(kymo_vec_push(&a->rows, copy));
    size_t last = a->rows.len - 1;
    if (row)
        *row = (uint32_t)last;
    a->unsorted |= last > 0 && copy.time_ns < a->rows.data[last - 1].time_ns;
    profile->allocation_count++;
    profile->finished = 0;
    return KYMO_OK;
}

const kymo_allocation *kymo_profile_allocations(const kymo_profile *profile, uint32_t process,
                                                size_t *count)
{
    *count = process < profile->allocations.len ? profile->allocations.data[process].rows.len : 0;
    return *count ? profile->allocations.data[process].rows.data : NULL;
}

static void permute(kymo_allocation_rows *a, kymo_allocation *sorted,
                    const struct kymo_time_order *order, uint32_t *place)
{
    size_t count = a->rows.len;
    for (size_t i = 0; i < count; i++)
        place[order[i].from] = (uint32_t)i;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = a->rows.data[order[i].from];
        if (sorted[i].previous != KYMO_NONE)
            sorted[i].previous = place[sorted[i].previous];
    }
    free(a->rows.data);
    a->rows.data = sorted;
    a->rows.cap = count;
    a->unsorted = 0;
}

kymo_err kymo_allocation_rows_sort(kymo_allocation_rows *a)
{
    size_t count = a->rows.len;
    if (!a->unsorted)
        return KYMO_OK;
    struct kymo_time_order *order;
    KYMO_TRY(kymo_time_order_make(&a->rows.data[0].time_ns, sizeof *a->rows.data, count, &order));
    uint32_t *place = malloc(count * sizeof *place);
    kymo_allocation *sorted = malloc(count * sizeof *sorted);
    kymo_err err = place && sorted ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK)
        permute(a, sorted, order, place);
    else
        free(sorted);
    free(order);
    free(place);
    return err;
}
