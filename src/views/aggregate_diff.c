/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of two recordings are independent, so that variances add up.
 * Within one recording, what lives at both moments is the same in both, drawn or not: only what
 * came and what went is summed up, and has an error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "kymo/report.h"
#include "views/diff_place.h"

#define NORMAL_975 1.959963984540054 /* a normal variable is below it with 97.5 % */

/* before, after: as they are shown; less, more: what the change is made of. */
enum part { BEFORE, AFTER, LESS, MORE, PARTS };

struct kymo_heap_diff {
    kymo_report *reports[PARTS];    /* names of rows are theirs */
    struct kymo_diff_places places; /* by row */
    KYMO_VEC(kymo_heap_diff_row) rows;
    KYMO_VEC(double) variances; /* by row, while they are added up */
    kymo_heap_diff_row all;
};

static kymo_err find_row(kymo_heap_diff *d, const kymo_report_row *row, uint32_t *out)
{
    KYMO_TRY(kymo_diff_places_find(
        &d->places, (struct kymo_diff_place){row->name, row->file, row->module, row->line}, out));
    if (*out < d->rows.len)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&d->variances, 0));
    return kymo_vec_push(&d->rows, (kymo_heap_diff_row){.name = row->name,
                                                        .file = row->file,
                                                        .module = row->module,
                                                        .line = row->line});
}

static void add_part(kymo_heap_diff_row *row, double *variance, enum part part,
                     const kymo_heap_sum *sum)
{
    switch (part) {
    case BEFORE:
        row->before += sum->bytes;
        break;
    case AFTER:
        row->after += sum->bytes;
        break;
    default:
        row->change += part == MORE ? sum->bytes : -sum->bytes;
        row->objects += part == MORE ? sum->objects : -sum->objects;
        *variance += sum->bytes_variance;
    }
}

static void put_interval(kymo_heap_diff_row *row, double variance)
{
    double half = NORMAL_975 * sqrt(variance > 0 ? variance : 0);
    row->low = row->change - half;
    row->high = row->change + half;
    row->is_significant = row->low > 0 || row->high < 0;
}

static kymo_err add_report(kymo_heap_diff *d, enum part part, double *all_variance)
{
    size_t n;
    uint32_t at;
    const kymo_report_row *rows = kymo_report_rows(d->reports[part], &n);
    for (size_t i = 0; i < n; i++) {
        KYMO_TRY(find_row(d, &rows[i], &at));
        add_part(&d->rows.data[at], &d->variances.data[at], part, &rows[i].memory->self);
    }
    add_part(&d->all, all_variance, part, &kymo_heap_report_totals(d->reports[part])->sum);
    return KYMO_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const kymo_heap_diff_row *x = a;
    const kymo_heap_diff_row *y = b;
    if (fabs(x->change) != fabs(y->change))
        return fabs(x->change) > fabs(y->change) ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : strcmp(x->file ? x->file : "", y->file ? y->file : "");
}

static kymo_err fill(kymo_heap_diff *d)
{
    double all_variance = 0;
    d->all.name = "";
    for (int part = 0; part < PARTS; part++)
        KYMO_TRY(add_report(d, (enum part)part, &all_variance));
    for (size_t i = 0; i < d->rows.len; i++)
        put_interval(&d->rows.data[i], d->variances.data[i]);
    put_interval(&d->all, all_variance);
    if (d->rows.len > 1)
        qsort(d->rows.data, d->rows.len, sizeof *d->rows.data, compare_rows);
    return KYMO_OK;
}

kymo_err kymo_heap_diff_create(const kymo_profile *before,
                               const kymo_heap_report_options *before_options,
                               const kymo_profile *after,
                               const kymo_heap_report_options *after_options, kymo_heap_diff **out)
{
    if (before_options->size < sizeof *before_options ||
        after_options->size < sizeof *after_options ||
        before_options->view != after_options->view || before_options->by != after_options->by)
        return KYMO_E_INVALID;
    kymo_heap_report_options options[PARTS] = {*before_options, *after_options, *before_options,
                                               *after_options};
    const kymo_profile *profiles[PARTS] = {before, after, before, after};
    kymo_heap_diff *d = calloc(1, sizeof *d);
    kymo_err err = d ? KYMO_OK : KYMO_E_NOMEM;
    if (before == after && before_options->view == KYMO_HEAP_LIVE) {
        options[LESS].without_ns = after_options->at_ns;
        options[MORE].without_ns = before_options->at_ns;
    }
    for (int part = 0; part < PARTS && err == KYMO_OK; part++)
        err = kymo_heap_report_create(profiles[part], &options[part], &d->reports[part]);
    if (err == KYMO_OK) {
        d->places.is_by_line = before_options->by == KYMO_BY_LINE;
        err = fill(d);
    }
    if (err != KYMO_OK) {
        kymo_heap_diff_destroy(d);
        return err;
    }
    *out = d;
    return KYMO_OK;
}

void kymo_heap_diff_destroy(kymo_heap_diff *d)
{
    if (!d)
        return;
    for (int part = 0; part < PARTS; part++)
        kymo_report_destroy(d->reports[part]);
    kymo_vec_deinit(&d->rows);
    kymo_vec_deinit(&d->variances);
    kymo_diff_places_deinit(&d->places);
    free(d);
}

const kymo_heap_diff_row *kymo_heap_diff_rows(const kymo_heap_diff *d, size_t *count)
{
    *count = d->rows.len;
    return d->rows.data;
}

const kymo_heap_diff_row *kymo_heap_diff_all(const kymo_heap_diff *d)
{
    return &d->all;
}
