/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

kymo_err kymo_profile_add_source(kymo_profile *profile, const char *path, size_t len,
                                 uint32_t *source)
{
    uint32_t string;
    uint32_t id;
    KYMO_TRY(kymo_profile_add_string(profile, path, len, &string));
    /* The path is interned already, so its id stands for it. */
    uint64_t word = string;
    uint64_t hash = kymo_hash_words(&word, 1, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&profile->source_index, hash, &probe, &id);)
        if (profile->sources.data[id] == string) {
            *source = id;
            return KYMO_OK;
        }
    if (profile->sources.len >= KYMO_SOURCES_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->sources, 1));
    id = (uint32_t)profile->sources.len;
    KYMO_TRY(kymo_index_put(&profile->source_index, hash, id));
    profile->sources.data[profile->sources.len++] = string;
    *source = id;
    return KYMO_OK;
}

const char *kymo_profile_source(const kymo_profile *profile, uint32_t source)
{
    return source < profile->sources.len
               ? kymo_profile_string(profile, profile->sources.data[source])
               : "";
}
