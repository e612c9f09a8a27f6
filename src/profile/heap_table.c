/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_table.c - facts of a process's memory as a whole: how it was recorded, and single figures
 * that are not counters over time.
 */
#include "profile/tables.h"

kymo_err kymo_profile_set_heap(kymo_profile *profile, const kymo_heap *heap)
{
    if (heap->size < sizeof *heap || heap->process >= profile->processes.len ||
        heap->allocator >= profile->strings.len || heap->not_seen >= profile->strings.len)
        return KYMO_E_INVALID;
    while (profile->heaps.len <= heap->process)
        KYMO_TRY(kymo_vec_push(&profile->heaps, (kymo_heap){0}));
    profile->heaps.data[heap->process] = *heap;
    profile->heaps.data[heap->process].size = sizeof *heap;
    return KYMO_OK;
}

const kymo_heap *kymo_profile_heap(const kymo_profile *profile, uint32_t process)
{
    return process < profile->heaps.len && profile->heaps.data[process].size != 0
               ? &profile->heaps.data[process]
               : NULL;
}

kymo_err kymo_profile_add_memory_info(kymo_profile *profile, const kymo_memory_info *info)
{
    if (info->process >= profile->processes.len || info->key >= profile->strings.len)
        return KYMO_E_INVALID;
    if (profile->memory_infos.len >= KYMO_MEMORY_INFOS_MAX)
        return KYMO_E_TOO_BIG;
    return kymo_vec_push(&profile->memory_infos, *info);
}

const kymo_memory_info *kymo_profile_memory_infos(const kymo_profile *profile, size_t *count)
{
    *count = profile->memory_infos.len;
    return *count ? profile->memory_infos.data : NULL;
}
