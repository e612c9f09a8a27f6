/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdlib.h>

static uint64_t hash_of(const kymo_ledger *l)
{
    uint64_t words[3] = {(uint64_t)l->process << 32 | l->line, (uint64_t)l->stack << 32 | l->name,
                         l->time_ns};
    return kymo_hash_words(words, 3, kymo_hash_secret());
}

kymo_err kymo_profile_add_ledger(kymo_profile *profile, const kymo_ledger *ledger)
{
    uint64_t hash = hash_of(ledger);
    uint32_t found;
    if (ledger->size < sizeof *ledger || ledger->process >= profile->processes.len ||
        ledger->name >= profile->strings.len || ledger->low > ledger->high ||
        !kymo_is_row_or_none(ledger->stack, profile->stack_frame.len))
        return KYMO_E_INVALID;
    kymo_ledger row = *ledger;
    row.size = sizeof row;
    for (size_t probe = 0; kymo_index_find(&profile->ledger_index, hash, &probe, &found);) {
        kymo_ledger *old = &profile->ledger.data[found];
        if (old->process == row.process && old->line == row.line && old->name == row.name &&
            old->stack == row.stack && old->time_ns == row.time_ns) {
            *old = row;
            profile->finished = 0; /* rows are sorted by bytes, so the order must be made again */
            return KYMO_OK;
        }
    }
    KYMO_TRY(KYMO_TABLE_ADD(&profile->ledger, &profile->ledger_index, hash, KYMO_LEDGER_MAX, row));
    profile->finished = 0;
    return KYMO_OK;
}

const kymo_ledger *kymo_profile_ledger(const kymo_profile *profile, size_t *count)
{
    *count = profile->ledger.len;
    return *count ? profile->ledger.data : NULL;
}

/* Each line is followed by its parts, the largest first. */
static int compare_ledger(const void *a, const void *b)
{
    const kymo_ledger *x = a;
    const kymo_ledger *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (kymo_ledger_is_whole(x) != kymo_ledger_is_whole(y))
        return kymo_ledger_is_whole(x) ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

kymo_err kymo_profile_sort_ledger(kymo_profile *profile)
{
    if (profile->ledger.len < 2)
        return KYMO_OK;
    qsort(profile->ledger.data, profile->ledger.len, sizeof *profile->ledger.data, compare_ledger);
    kymo_index_deinit(&profile->ledger_index);
    for (size_t i = 0; i < profile->ledger.len; i++)
        KYMO_TRY(
            kymo_index_put(&profile->ledger_index, hash_of(&profile->ledger.data[i]), (uint32_t)i));
    return KYMO_OK;
}
