/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdlib.h>
#include <string.h>

kymo_err kymo_profile_add_counter(kymo_profile *profile, const kymo_counter *counter, uint32_t *id)
{
    if (counter->size < sizeof *counter || counter->process >= profile->processes.len ||
        !kymo_is_row_or_none(counter->category, profile->marker_categories.len) ||
        counter->name >= profile->strings.len || counter->unit >= profile->strings.len ||
        counter->description >= profile->strings.len)
        return KYMO_E_INVALID;
    if (profile->counters.len >= KYMO_COUNTERS_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->counts, 1));
    KYMO_TRY(kymo_vec_push(&profile->counters, *counter));
    *id = (uint32_t)profile->counters.len - 1;
    profile->counters.data[*id].size = sizeof *counter;
    profile->counts.data[profile->counts.len++] = (kymo_count_columns){0};
    return KYMO_OK;
}

static kymo_err grow(kymo_count_columns *c)
{
    uint32_t cap = c->cap < 16 ? 16 : c->cap + c->cap / 2;
    uint64_t *time_ns = realloc(c->time_ns, cap * sizeof *time_ns);
    if (time_ns)
        c->time_ns = time_ns;
    int64_t *value = realloc(c->value, cap * sizeof *value);
    if (value)
        c->value = value;
    uint64_t *operations = realloc(c->operations, cap * sizeof *operations);
    if (operations)
        c->operations = operations;
    if (!time_ns || !value || !operations)
        return KYMO_E_NOMEM;
    c->cap = cap;
    return KYMO_OK;
}

kymo_err kymo_profile_add_count(kymo_profile *profile, uint32_t counter, uint64_t time_ns,
                                int64_t value, uint64_t operations)
{
    if (counter >= profile->counters.len)
        return KYMO_E_INVALID;
    if (profile->count_count >= KYMO_COUNTS_MAX)
        return KYMO_E_TOO_BIG;
    kymo_count_columns *c = &profile->counts.data[counter];
    if (c->count == c->cap)
        KYMO_TRY(grow(c));
    if (c->count > 0 && time_ns < c->time_ns[c->count - 1])
        c->unsorted = 1;
    c->time_ns[c->count] = time_ns;
    c->value[c->count] = value;
    c->operations[c->count++] = operations;
    profile->count_count++;
    profile->finished = 0;
    return KYMO_OK;
}

kymo_counts kymo_profile_counts(const kymo_profile *profile, uint32_t counter)
{
    if (counter >= profile->counts.len)
        return (kymo_counts){0};
    const kymo_count_columns *c = &profile->counts.data[counter];
    return (kymo_counts){c->count, c->time_ns, c->value, c->operations};
}

struct row {
    uint64_t time_ns;
    int64_t value;
    uint64_t operations;
    uint32_t from;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

kymo_err kymo_count_columns_sort(kymo_count_columns *c)
{
    if (!c->unsorted)
        return KYMO_OK;
    struct row *rows = malloc(c->count * sizeof *rows);
    if (!rows)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < c->count; i++)
        rows[i] = (struct row){c->time_ns[i], c->value[i], c->operations[i], i};
    qsort(rows, c->count, sizeof *rows, compare_rows);
    for (uint32_t i = 0; i < c->count; i++) {
        c->time_ns[i] = rows[i].time_ns;
        c->value[i] = rows[i].value;
        c->operations[i] = rows[i].operations;
    }
    free(rows);
    c->unsorted = 0;
    return KYMO_OK;
}

void kymo_count_columns_deinit(kymo_count_columns *counts)
{
    free(counts->time_ns);
    free(counts->value);
    free(counts->operations);
}
