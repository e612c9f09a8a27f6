/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

kymo_err kymo_profile_add_marker_category(kymo_profile *profile,
                                          const kymo_marker_category *category, uint32_t *id)
{
    uint32_t found;
    if (category->size < sizeof *category || category->name >= profile->strings.len ||
        (category->parent != KYMO_NONE && category->parent >= profile->marker_categories.len))
        return KYMO_E_INVALID;
    kymo_marker_category row = {sizeof row, category->name, category->parent, category->color};
    if (row.parent != KYMO_NONE) {
        const kymo_marker_category *parent = &profile->marker_categories.data[row.parent];
        row.color = parent->color;
        if (parent->parent != KYMO_NONE)
            row.parent = parent->parent;
    }
    uint64_t key = (uint64_t)row.name << 32 | row.parent;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&profile->marker_category_index, hash, &probe, &found);)
        if (profile->marker_categories.data[found].name == row.name &&
            profile->marker_categories.data[found].parent == row.parent) {
            *id = found;
            return KYMO_OK;
        }
    if (profile->marker_categories.len >= KYMO_MARKER_CATEGORIES_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->marker_categories, 1));
    found = (uint32_t)profile->marker_categories.len;
    KYMO_TRY(kymo_index_put(&profile->marker_category_index, hash, found));
    profile->marker_categories.data[profile->marker_categories.len++] = row;
    *id = found;
    return KYMO_OK;
}

const kymo_marker_category *kymo_profile_marker_category(const kymo_profile *profile, uint32_t id)
{
    return id < profile->marker_categories.len ? &profile->marker_categories.data[id] : NULL;
}
