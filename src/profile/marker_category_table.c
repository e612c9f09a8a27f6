/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

kymo_err kymo_profile_add_marker_category(kymo_profile *profile,
                                          const kymo_marker_category *category, uint32_t *id)
{
    if (category->size < sizeof *category || category->name >= profile->strings.len ||
        !kymo_is_row_or_none(category->parent, profile->marker_categories.len))
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
    return KYMO_TABLE_INTERN(&profile->marker_categories, &profile->marker_category_index, hash,
                             KYMO_MARKER_CATEGORIES_MAX, row, at,
                             profile->marker_categories.data[at].name == row.name &&
                                 profile->marker_categories.data[at].parent == row.parent,
                             id);
}
