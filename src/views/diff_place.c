/* SPDX-License-Identifier: Apache-2.0 */
#include "views/diff_place.h"

#include <string.h>

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return kymo_hash_bytes(text ? text : "", text ? strlen(text) : 0, seed);
}

static int is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

kymo_err kymo_diff_places_find(struct kymo_diff_places *places, struct kymo_diff_place wanted,
                               uint32_t *out)
{
    uint64_t hash = hash_text(wanted.name, kymo_hash_secret());
    if (places->without_file)
        wanted.file = NULL;
    if (places->without_module)
        wanted.module = NULL;
    hash = hash_text(wanted.module, hash_text(wanted.file, hash));
    if (places->is_by_line)
        hash = kymo_hash_mix(hash, wanted.line);
    size_t probe = 0;
    while (kymo_index_find(&places->index, hash, &probe, out)) {
        const struct kymo_diff_place *old = &places->list.data[*out];
        if (is_same_text(old->name, wanted.name) && is_same_text(old->file, wanted.file) &&
            is_same_text(old->module, wanted.module) &&
            (!places->is_by_line || old->line == wanted.line))
            return KYMO_OK;
    }
    *out = (uint32_t)places->list.len;
    KYMO_TRY(kymo_vec_push(&places->list, wanted));
    return kymo_index_put(&places->index, hash, *out);
}

void kymo_diff_places_deinit(struct kymo_diff_places *places)
{
    kymo_vec_deinit(&places->list);
    kymo_index_deinit(&places->index);
}
