/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

kymo_err kymo_profile_add_stack(kymo_profile *profile, uint32_t parent, uint32_t frame,
                                uint32_t *id)
{
    if (frame >= profile->frames.len || (parent != KYMO_NONE && parent >= profile->stack_frame.len))
        return KYMO_E_INVALID;
    uint64_t key = (uint64_t)parent << 32 | frame;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    uint32_t found;
    for (size_t probe = 0; kymo_index_find(&profile->stack_index, hash, &probe, &found);)
        if (profile->stack_parent.data[found] == parent &&
            profile->stack_frame.data[found] == frame) {
            *id = found;
            return KYMO_OK;
        }
    if (profile->stack_frame.len >= KYMO_STACKS_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->stack_frame, 1));
    KYMO_TRY(kymo_vec_reserve(&profile->stack_parent, 1));
    found = (uint32_t)profile->stack_frame.len;
    KYMO_TRY(kymo_index_put(&profile->stack_index, hash, found));
    profile->stack_frame.data[profile->stack_frame.len++] = frame;
    profile->stack_parent.data[profile->stack_parent.len++] = parent;
    *id = found;
    return KYMO_OK;
}

kymo_stacks kymo_profile_stacks(const kymo_profile *profile)
{
    return (kymo_stacks){profile->stack_frame.data, profile->stack_parent.data,
                         (uint32_t)profile->stack_frame.len};
}
