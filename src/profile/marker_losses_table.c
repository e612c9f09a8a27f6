/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sum.h"
#include "profile/tables.h"

kymo_err kymo_profile_add_marker_losses(kymo_profile *profile, const kymo_marker_losses *losses)
{
    uint32_t found;
    if (losses->size < sizeof *losses || losses->name >= profile->strings.len ||
        (losses->category != KYMO_NONE && losses->category >= profile->marker_categories.len) ||
        (losses->schema != KYMO_NONE && losses->schema >= profile->schemas.len))
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
    if (profile->marker_losses.len >= KYMO_MARKER_LOSSES_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->marker_losses, 1));
    KYMO_TRY(
        kymo_index_put(&profile->marker_losses_index, hash, (uint32_t)profile->marker_losses.len));
    profile->marker_losses.data[profile->marker_losses.len] = *losses;
    profile->marker_losses.data[profile->marker_losses.len++].size = sizeof *losses;
    return KYMO_OK;
}

const kymo_marker_losses *kymo_profile_marker_losses(const kymo_profile *profile, uint32_t id)
{
    return id < profile->marker_losses.len ? &profile->marker_losses.data[id] : NULL;
}
