/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

kymo_err kymo_profile_add_source(kymo_profile *profile, const char *path, size_t len,
                                 uint32_t *source)
{
    uint32_t string;
    KYMO_TRY(kymo_profile_add_string(profile, path, len, &string));
    /* the path is interned, so its id identifies it */
    uint64_t word = string;
    uint64_t hash = kymo_hash_words(&word, 1, kymo_hash_secret());
    return KYMO_TABLE_INTERN(&profile->sources, &profile->source_index, hash, KYMO_SOURCES_MAX,
                             string, at, profile->sources.data[at] == string, source);
}

const char *kymo_profile_source(const kymo_profile *profile, uint32_t source)
{
    return source < profile->sources.len
               ? kymo_profile_string(profile, profile->sources.data[source])
               : "";
}
