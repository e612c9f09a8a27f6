/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_set_table.c - sets of labels.
 *
 * The labels of a set are sorted by key, each key once, so the order of setting does not matter.
 */
#include "profile/tables.h"

#include <string.h>

static int same_label(const kymo_label *a, const kymo_label *b)
{
    return a->key == b->key && a->value.kind == b->value.kind && a->value.as.u64 == b->value.as.u64;
}

static int same_set(const kymo_profile *p, kymo_label_set set, const kymo_label *labels,
                    uint32_t count)
{
    if (set.count != count)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!same_label(&p->labels.data[set.first + i], &labels[i]))
            return 0;
    return 1;
}

/* Inserts a label by its key; replaces one with the same key. */
static uint32_t insert(kymo_label *sorted, uint32_t count, const kymo_label *label)
{
    uint32_t at = count;
    while (at > 0 && sorted[at - 1].key >= label->key)
        at--;
    if (at == count || sorted[at].key != label->key) {
        memmove(&sorted[at + 1], &sorted[at], (count - at) * sizeof *sorted);
        count++;
    }
    /* Values are compared by their bits: the unused bits of a short member are 0. */
    sorted[at] = (kymo_label){.key = label->key, .value.kind = label->value.kind};
    if (label->value.kind == KYMO_VALUE_STRING)
        sorted[at].value.as.string = label->value.as.string;
    else
        sorted[at].value.as.u64 = label->value.as.u64;
    return count;
}

static uint64_t hash_of(const kymo_label *labels, uint32_t count)
{
    uint64_t hash = kymo_hash_secret();
    for (uint32_t i = 0; i < count; i++) {
        uint64_t words[2] = {(uint64_t)labels[i].key << 32 | labels[i].value.kind,
                             labels[i].value.as.u64};
        hash = kymo_hash_words(words, 2, hash);
    }
    return hash;
}

kymo_err kymo_profile_add_label_set(kymo_profile *profile, const kymo_label *labels, uint32_t count,
                                    uint32_t *id)
{
    kymo_label sorted[KYMO_LABEL_SET_MAX + 1];
    uint32_t n = 0;
    uint32_t found;
    if (count == 0) {
        *id = KYMO_NONE;
        return KYMO_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (labels[i].key >= profile->strings.len || labels[i].value.kind == KYMO_VALUE_NONE ||
            labels[i].value.kind == KYMO_VALUE_LIST ||
            !kymo_profile_has_value(profile, &labels[i].value))
            return KYMO_E_INVALID;
        n = insert(sorted, n, &labels[i]);
        if (n > KYMO_LABEL_SET_MAX)
            return KYMO_E_TOO_BIG;
    }
    uint64_t hash = hash_of(sorted, n);
    for (size_t probe = 0; kymo_index_find(&profile->label_set_index, hash, &probe, &found);)
        if (same_set(profile, profile->label_sets.data[found], sorted, n)) {
            *id = found;
            return KYMO_OK;
        }
    if (n > KYMO_LABELS_MAX - profile->labels.len)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->labels, n));
    KYMO_TRY(kymo_vec_reserve(&profile->label_sets, 1));
    found = (uint32_t)profile->label_sets.len;
    KYMO_TRY(kymo_index_put(&profile->label_set_index, hash, found));
    memcpy(profile->labels.data + profile->labels.len, sorted, n * sizeof *sorted);
    profile->label_sets.data[profile->label_sets.len++] =
        (kymo_label_set){(uint32_t)profile->labels.len, n};
    profile->labels.len += n;
    *id = found;
    return KYMO_OK;
}

const kymo_label *kymo_profile_label_set(const kymo_profile *profile, uint32_t id, uint32_t *count)
{
    *count = 0;
    if (id >= profile->label_sets.len)
        return NULL;
    *count = profile->label_sets.data[id].count;
    return profile->labels.data + profile->label_sets.data[id].first;
}
