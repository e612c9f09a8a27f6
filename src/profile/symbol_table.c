/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

kymo_err kymo_profile_add_symbol(kymo_profile *profile, const kymo_symbol *symbol, uint32_t *id)
{
    kymo_symbol row = *symbol;
    uint32_t found;
    if (row.name >= profile->strings.len || row.module >= profile->modules.len)
        return KYMO_E_INVALID;
    /* A symbol belongs to the file, wherever it is mapped. */
    row.module = profile->module_ids.data[row.module].file;
    uint64_t words[3] = {(uint64_t)row.module << 32 | row.name, row.address, row.size_bytes};
    uint64_t hash = kymo_hash_words(words, 3, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&profile->symbol_index, hash, &probe, &found);) {
        const kymo_symbol *s = &profile->symbols.data[found];
        if (s->module == row.module && s->name == row.name && s->address == row.address &&
            s->size_bytes == row.size_bytes) {
            *id = found;
            return KYMO_OK;
        }
    }
    if (profile->symbols.len >= KYMO_SYMBOLS_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->symbols, 1));
    found = (uint32_t)profile->symbols.len;
    KYMO_TRY(kymo_index_put(&profile->symbol_index, hash, found));
    profile->symbols.data[profile->symbols.len++] = row;
    *id = found;
    return KYMO_OK;
}

const kymo_symbol *kymo_profile_symbol(const kymo_profile *profile, uint32_t id)
{
    return id < profile->symbols.len ? &profile->symbols.data[id] : NULL;
}
