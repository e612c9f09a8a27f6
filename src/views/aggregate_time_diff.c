/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of self time X that was sampled with weights of w on average has
 * some X / w samples, which is known to their square root: its variance is X w, and that of a row
 * without a sample what one sample would be. Totals are the CPU clock's, and have no error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "kymo/report.h"
#include "views/diff_place.h"

#define NORMAL_975 1.959963984540054 /* a normal variable is below it with 97.5 % */

enum { BEFORE, AFTER };

struct kymo_time_diff {
    kymo_report *reports[2]; /* names of rows are theirs */
    double scale[2];         /* of nanoseconds, to what is compared */
    double weight[2];        /* of one sample, on average */
    int is_rate;
    struct kymo_diff_places places; /* by row */
    KYMO_VEC(kymo_time_diff_row) rows;
    kymo_time_diff_row all;
};

static kymo_err find_row(kymo_time_diff *d, const kymo_report_row *row, uint32_t *out)
{
    KYMO_TRY(kymo_diff_places_find(
        &d->places, (struct kymo_diff_place){row->name, row->file, row->module, row->line}, out));
    if (*out < d->rows.len)
        return KYMO_OK;
    return kymo_vec_push(&d->rows, (kymo_time_diff_row){.name = row->name,
                                                        .file = row->file,
                                                        .module = row->module,
                                                        .line = row->line});
}

static kymo_err add_report(kymo_time_diff *d, int which)
{
    size_t n;
    uint32_t at;
    const kymo_report_row *rows = kymo_report_rows(d->reports[which], &n);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].self == 0)
            continue;
        KYMO_TRY(find_row(d, &rows[i], &at));
        kymo_time_diff_row *row = &d->rows.data[at];
        *(which == AFTER ? &row->after : &row->before) += (double)rows[i].self * d->scale[which];
    }
    double total = (double)kymo_report_total(d->reports[which]) * d->scale[which];
    *(which == AFTER ? &d->all.after : &d->all.before) = total;
    return KYMO_OK;
}

static double variance_of(const kymo_time_diff *d, int which, double self)
{
    double one = d->weight[which] * d->scale[which];
    return (self > one ? self : one) * one;
}

static int compare_rows(const void *a, const void *b)
{
    const kymo_time_diff_row *x = a;
    const kymo_time_diff_row *y = b;
    if (fabs(x->change) != fabs(y->change))
        return fabs(x->change) > fabs(y->change) ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : strcmp(x->file ? x->file : "", y->file ? y->file : "");
}

static kymo_err fill(kymo_time_diff *d)
{
    for (int which = BEFORE; which <= AFTER; which++)
        KYMO_TRY(add_report(d, which));
    for (size_t i = 0; i < d->rows.len; i++) {
        kymo_time_diff_row *row = &d->rows.data[i];
        row->change = row->after - row->before;
        double half = NORMAL_975 *
                      sqrt(variance_of(d, BEFORE, row->before) + variance_of(d, AFTER, row->after));
        row->low = row->change - half;
        row->high = row->change + half;
        row->is_significant = row->low > 0 || row->high < 0;
    }
    d->all.name = "";
    d->all.change = d->all.low = d->all.high = d->all.after - d->all.before;
    d->all.is_significant = d->all.change < 0 || d->all.change > 0;
    if (d->rows.len > 1)
        qsort(d->rows.data, d->rows.len, sizeof *d->rows.data, compare_rows);
    return KYMO_OK;
}

/* Whether the program was recorded to its end, and all of it kept. */
static int is_whole(const kymo_profile *profile)
{
    if (kymo_profile_quality(profile)->dropped_samples)
        return 0;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        if (kymo_profile_process(profile, i)->is_main)
            return kymo_profile_process(profile, i)->end_ns != 0;
    return 0;
}

/* Of a flight recorder, from its oldest sample. */
static double elapsed_ns(const kymo_profile *profile)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    uint64_t from_ns = meta->origin_monotonic_ns;
    if (kymo_profile_quality(profile)->dropped_samples) {
        from_ns = meta->end_ns;
        for (uint32_t t = 0; t < kymo_profile_count(profile, KYMO_TABLE_THREADS); t++) {
            kymo_samples s = kymo_profile_samples(profile, t);
            if (s.count && s.time_ns[0] < from_ns)
                from_ns = s.time_ns[0];
        }
    }
    return meta->end_ns > from_ns ? (double)(meta->end_ns - from_ns) : 0;
}

static double weight_of(const kymo_report *report)
{
    size_t n;
    double sum = 0;
    double samples = 0;
    const kymo_report_thread *threads = kymo_report_threads(report, &n);
    for (size_t i = 0; i < n; i++) {
        sum += (double)threads[i].weight;
        samples += (double)threads[i].samples;
    }
    return samples > 0 ? sum / samples : 0;
}

kymo_err kymo_time_diff_create(const kymo_profile *before, const kymo_profile *after,
                               const kymo_report_options *options, kymo_time_diff **out)
{
    const kymo_profile *profiles[2] = {before, after};
    kymo_time_diff *d = calloc(1, sizeof *d);
    kymo_err err = d ? KYMO_OK : KYMO_E_NOMEM;
    for (int i = 0; i < 2 && err == KYMO_OK; i++)
        err = kymo_report_create(profiles[i], options, &d->reports[i]);
    if (err == KYMO_OK) {
        d->places.is_by_line = options && options->by == KYMO_BY_LINE;
        d->is_rate = !(is_whole(before) && is_whole(after)) && elapsed_ns(before) > 0 &&
                     elapsed_ns(after) > 0;
        for (int i = 0; i < 2; i++) {
            d->scale[i] = d->is_rate ? 1e9 / elapsed_ns(profiles[i]) : 1;
            d->weight[i] = weight_of(d->reports[i]);
        }
        err = fill(d);
    }
    if (err != KYMO_OK) {
        kymo_time_diff_destroy(d);
        return err;
    }
    *out = d;
    return KYMO_OK;
}

void kymo_time_diff_destroy(kymo_time_diff *d)
{
    if (!d)
        return;
    for (int i = 0; i < 2; i++)
        kymo_report_destroy(d->reports[i]);
    kymo_vec_deinit(&d->rows);
    kymo_diff_places_deinit(&d->places);
    free(d);
}

const kymo_time_diff_row *kymo_time_diff_rows(const kymo_time_diff *d, size_t *count)
{
    *count = d->rows.len;
    return d->rows.data;
}

const kymo_time_diff_row *kymo_time_diff_all(const kymo_time_diff *d)
{
    return &d->all;
}

int kymo_time_diff_is_rate(const kymo_time_diff *d)
{
    return d->is_rate;
}
