/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sum.h"
#include "profile/tables.h"

kymo_err kymo_profile_add_marker_losses(kymo_profile *profile, const kymo_marker_losses *losses)
{
    uint32_t found;
    if (losses->size < sizeof *losses || losses->name >= profile->strings.len ||
        !kymo_is_row_or_none(losses->category, profile->marker_categories.len) ||
        !kymo_is_row_or_none(losses->schema, profile->schemas.len))
        return KYMO_E_INVALID;
    uint64_t words[2] = {(uint64_t)losses->name << 32 | losses->category, losses->schema};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&profile->marker_losses_index, hash, &probe, &found);) {
        kymo_marker_losses *row = &profile->marker_losses.data[found];
        if (row->name == losses->name && row->category == losses->category &&
            row->schema == losses->schema) {
            row->lost = kymo_sum(row->lost, losses->lost);
            row->capped = kymo_sum(row->capped, losses->capped);
            row->cut = kymo_sum(row->cut, losses->cut);
            return KYMO_OK;
        }
    }
    kymo_marker_losses row = *losses;
    row.size = sizeof row;
    return KYMO_TABLE_ADD(&profile->marker_losses, &profile->marker_losses_index, hash,
                          KYMO_MARKER_LOSSES_MAX, row);
}
