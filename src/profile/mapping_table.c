/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdlib.h>

#define HOW_ALL 15u /* bits of kymo_mapping.how */

kymo_err kymo_profile_add_mapping(kymo_profile *profile, uint32_t process,
                                  const kymo_mapping *mapping)
{
    if (process >= profile->processes.len || mapping->thread >= profile->threads.len ||
        !kymo_is_row_or_none(mapping->stack, profile->stack_frame.len) || mapping->bytes == 0 ||
        mapping->bytes > UINT64_MAX - mapping->address || mapping->how > HOW_ALL)
        return KYMO_E_INVALID;
    if (profile->mapping_count >= KYMO_MAPPINGS_MAX)
        return KYMO_E_TOO_BIG;
    while (profile->mappings.len < profile->processes.len)
        KYMO_TRY(kymo_vec_push(&profile->mappings, (kymo_mapping_rows){0}));
    kymo_mapping_rows *m = &profile->mappings.data[process];
    kymo_mapping row = *mapping;
    row.reserved = 0;
    if (row.end_ns < row.time_ns)
        row.end_ns = row.time_ns;
    KYMO_TRY(kymo_vec_push(&m->rows, row));
    profile->mapping_count++;
    profile->finished = 0;
    return KYMO_OK;
}

const kymo_mapping *kymo_profile_mappings(const kymo_profile *profile, uint32_t process,
                                          size_t *count)
{
    *count = process < profile->mappings.len ? profile->mappings.data[process].rows.len : 0;
    return *count ? profile->mappings.data[process].rows.data : NULL;
}

/* Pieces of one mapping have the same time; no two of them have the same address. */
static int compare_mappings(const void *a, const void *b)
{
    const kymo_mapping *x = a;
    const kymo_mapping *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

void kymo_mapping_rows_sort(kymo_mapping_rows *m)
{
    if (m->rows.len > 1)
        qsort(m->rows.data, m->rows.len, sizeof *m->rows.data, compare_mappings);
}
