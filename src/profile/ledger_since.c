/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_since.c - see ledger_since.h.
 *
 * All bytes allocated and freed would be no useful bound: a busy program uses the same memory again
 * and again. What the allocator can have taken from the system is the highest rise of the sum of
 * its allocations in between; what it can have kept is the deepest fall.
 */
#include "profile/ledger_since.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"

struct change {
    uint64_t distance_ns; /* distance in time from the allocator's count */
    double bytes;
};

struct changes {
    uint64_t said_ns, time_ns;
    KYMO_VEC(struct change) all;
};

/* At equal distance, frees come first. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;
    if (x->distance_ns != y->distance_ns)
        return x->distance_ns < y->distance_ns ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Adds bytes allocated at a time; below 0: freed. Backwards in time the signs are reversed. */
static kymo_err add_change(struct changes *c, uint64_t time_ns, double bytes)
{
    if (time_ns > c->said_ns && time_ns <= c->time_ns)
        return kymo_vec_push(&c->all, (struct change){time_ns - c->said_ns, bytes});
    if (time_ns > c->time_ns && time_ns <= c->said_ns)
        return kymo_vec_push(&c->all, (struct change){c->said_ns - time_ns, -bytes});
    return KYMO_OK;
}

static kymo_err add_row(struct changes *c, const kymo_allocation *row, double weight, double bytes,
                        struct kymo_ledger_since *sum)
{
    int is_there = kymo_ledger_lives_at(row, c->time_ns);
    int was_there = kymo_ledger_lives_at(row, c->said_ns);
    if (is_there != was_there) {
        sum->grown += is_there ? weight * bytes : -weight * bytes;
        sum->variance += weight * (weight - 1) * bytes * bytes;
    }
    if (row->end_ns <= row->time_ns)
        return KYMO_OK;
    KYMO_TRY(add_change(c, row->time_ns, weight * bytes));
    return add_change(c, row->end_ns, -weight * bytes);
}

static void find_extremes(struct changes *c, struct kymo_ledger_since *sum)
{
    double net = 0, least = 0, most = 0;
    if (c->all.len > 0)
        qsort(c->all.data, c->all.len, sizeof *c->all.data, compare_changes);
    for (size_t i = 0; i < c->all.len; i++) {
        net += c->all.data[i].bytes;
        least = fmin(least, net);
        most = fmax(most, net);
        sum->rise = fmax(sum->rise, net - least);
        sum->fall = fmax(sum->fall, most - net);
    }
    sum->rise += KYMO_LEDGER_DEVIATIONS * sqrt(sum->variance);
    sum->fall += KYMO_LEDGER_DEVIATIONS * sqrt(sum->variance);
}

kymo_err kymo_ledger_since_sum(const kymo_allocation *rows, const double *weights, size_t count,
                               uint32_t header_bytes, uint64_t said_ns, uint64_t time_ns,
                               struct kymo_ledger_since *out)
{
    struct changes changes = {.said_ns = said_ns, .time_ns = time_ns};
    struct kymo_ledger_since sum = {.grown = 0};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < count; i++)
        if (rows[i].family != KYMO_FAMILY_PYTHON)
            err = add_row(&changes, &rows[i], weights[i],
                          (double)rows[i].bytes + rows[i].slack + header_bytes, &sum);
    if (err == KYMO_OK) {
        find_extremes(&changes, &sum);
        *out = sum;
    }
    kymo_vec_deinit(&changes.all);
    return err;
}
