/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

static int is_same(const kymo_symbol *a, const kymo_symbol *b)
{
    return a->module == b->module && a->name == b->name && a->address == b->address &&
           a->size_bytes == b->size_bytes;
}

kymo_err kymo_profile_add_symbol(kymo_profile *profile, const kymo_symbol *symbol, uint32_t *id)
{
    kymo_symbol row = *symbol;
    if (row.name >= profile->strings.len || row.module >= profile->modules.len)
        return KYMO_E_INVALID;
    /* a symbol belongs to the file, not to one mapping of it */
    row.module = profile->module_ids.data[row.module].file;
    uint64_t words[3] = {(uint64_t)row.module << 32 | row.name, row.address, row.size_bytes};
    uint64_t hash = kymo_hash_words(words, 3, kymo_hash_secret());
    return KYMO_TABLE_INTERN(&profile->symbols, &profile->symbol_index, hash, KYMO_SYMBOLS_MAX, row,
                             at, is_same(&profile->symbols.data[at], &row), id);
}
