/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stddef.h>

/* The texts of kymo_meta that are copied in the same way. */
static const size_t text_fields[] = {
    offsetof(kymo_meta, product),
    offsetof(kymo_meta, version),
    offsetof(kymo_meta, engine),
    offsetof(kymo_meta, hostname),
    offsetof(kymo_meta, os),
    offsetof(kymo_meta, kernel),
    offsetof(kymo_meta, arch),
    offsetof(kymo_meta, cpu_name),
    offsetof(kymo_meta, engine_reason),
    offsetof(kymo_meta, format),
};

kymo_err kymo_profile_set_meta(kymo_profile *profile, const kymo_meta *meta)
{
    if (meta->size < sizeof *meta || (meta->argc > 0 && !meta->argv))
        return KYMO_E_INVALID;
    kymo_meta row = *meta;
    row.size = sizeof row;
    if (row.end_ns && row.end_ns < row.start_ns)
        row.end_ns = row.start_ns;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(text_fields); i++) {
        const char **field = (const char **)(void *)((char *)&row + text_fields[i]);
        if (*field)
            KYMO_TRY(kymo_profile_intern(profile, *field, NULL, field));
    }
    KYMO_TRY(kymo_profile_copy_argv(profile, meta->argv, meta->argc, &row.argv, &row.argc));
    if ((!row.product || !*row.product) && row.argc > 0)
        KYMO_TRY(kymo_profile_intern(profile, kymo_path_base(row.argv[0]), NULL, &row.product));
    profile->meta = row;
    return KYMO_OK;
}

const kymo_meta *kymo_profile_meta(const kymo_profile *profile)
{
    return &profile->meta;
}

kymo_err kymo_profile_set_quality(kymo_profile *profile, const kymo_quality *quality)
{
    if (quality->size < sizeof *quality || (quality->lost_count > 0 && !quality->lost))
        return KYMO_E_INVALID;
    if (quality->lost_count > KYMO_LOST_MAX)
        return KYMO_E_TOO_BIG;
    kymo_quality row = *quality;
    row.size = sizeof row;
    kymo_lost *lost =
        kymo_arena_calloc(&profile->arena, (row.lost_count + 1u) * sizeof *lost, sizeof(void *));
    if (!lost)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < row.lost_count; i++) {
        lost[i].count = quality->lost[i].count;
        KYMO_TRY(kymo_profile_intern(profile, quality->lost[i].kind, NULL, &lost[i].kind));
    }
    row.lost = lost;
    profile->quality = row;
    return KYMO_OK;
}

const kymo_quality *kymo_profile_quality(const kymo_profile *profile)
{
    return &profile->quality;
}
