/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of two recordings are independent, so variances add up.
 *
 * Memory: sums have variances. Within one recording, allocations that live at both moments are the
 * same in both, sampled or not. So only the difference, what was allocated and freed between, is
 * summed up and has an error.
 *
 * Time: a row with self time X and an average weight of w has about X / w samples, with the square
 * root of that as error: its variance is X w. A row without a sample has the variance of one
 * sample. Totals come from the CPU clock and have no error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "kymo/report.h"
#include "views/diff_place.h"

#define NORMAL_975 1.959963984540054 /* a normal variable is below it with 97.5 % */

/* before, after: as displayed; less, more: the parts of a change of memory. */
enum part { BEFORE, AFTER, LESS, MORE, PARTS };

struct kymo_report_diff {
    kymo_report *reports[PARTS]; /* own the names of rows; for time there are two */
    int is_memory;
    int is_rate;
    double scale[2];                /* converts nanoseconds to the compared unit */
    double weight[2];               /* average weight of one sample, in the compared unit */
    struct kymo_diff_places places; /* by row */
    KYMO_VEC(kymo_report_diff_row) rows;
    KYMO_VEC(double) variances; /* by row, sums in progress */
    kymo_report_diff_row all;
};

static kymo_err find_row(kymo_report_diff *d, const kymo_report_row *row, uint32_t *out)
{
    KYMO_TRY(kymo_diff_places_find(
        &d->places, (struct kymo_diff_place){row->name, row->file, row->module, row->line}, out));
    if (*out < d->rows.len)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&d->variances, 0));
    return kymo_vec_push(&d->rows, (kymo_report_diff_row){.name = row->name,
                                                          .file = row->file,
                                                          .module = row->module,
                                                          .line = row->line});
}

/* value: bytes, or time in the compared unit. memory: the sums of bytes; NULL for time. */
static void add_part(kymo_report_diff_row *row, double *variance, enum part part, double value,
                     const kymo_heap_sum *memory)
{
    if (part == BEFORE)
        row->before += value;
    else if (part == AFTER)
        row->after += value;
    if (part < LESS)
        return;
    row->change += part == MORE ? value : -value;
    row->objects += part == MORE ? memory->objects : -memory->objects;
    *variance += memory->bytes_variance;
}

static double value_of(const kymo_report_diff *d, enum part part, uint64_t time_ns,
                       const kymo_heap_sum *memory)
{
    return memory ? memory->bytes : (double)time_ns * d->scale[part];
}

static kymo_err add_report(kymo_report_diff *d, enum part part, double *all_variance)
{
    size_t n;
    uint32_t at;
    const kymo_report *report = d->reports[part];
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++) {
        const kymo_heap_sum *memory = d->is_memory ? &rows[i].memory->self : NULL;
        if (!memory && rows[i].self == 0)
            continue;
        KYMO_TRY(find_row(d, &rows[i], &at));
        add_part(&d->rows.data[at], &d->variances.data[at], part,
                 value_of(d, part, rows[i].self, memory), memory);
    }
    const kymo_heap_sum *memory = d->is_memory ? &kymo_heap_report_totals(report)->sum : NULL;
    add_part(&d->all, all_variance, part, value_of(d, part, kymo_report_total(report), memory),
             memory);
    return KYMO_OK;
}

static double variance_of_time(const kymo_report_diff *d, const kymo_report_diff_row *row)
{
    return fmax(row->before, d->weight[BEFORE]) * d->weight[BEFORE] +
           fmax(row->after, d->weight[AFTER]) * d->weight[AFTER];
}

static void put_interval(const kymo_report_diff *d, kymo_report_diff_row *row, double variance)
{
    double half = NORMAL_975 * sqrt(variance > 0 ? variance : 0);
    if (!d->is_memory)
        row->change = row->after - row->before;
    row->low = row->change - half;
    row->high = row->change + half;
    row->is_significant = row->low > 0 || row->high < 0;
}

static int compare_rows(const void *a, const void *b)
{
    const kymo_report_diff_row *x = a;
    const kymo_report_diff_row *y = b;
    if (fabs(x->change) != fabs(y->change))
        return fabs(x->change) > fabs(y->change) ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : strcmp(x->file ? x->file : "", y->file ? y->file : "");
}

static kymo_err fill(kymo_report_diff *d)
{
    double all_variance = 0;
    d->all.name = "";
    for (int part = 0; part < PARTS && d->reports[part]; part++)
        KYMO_TRY(add_report(d, (enum part)part, &all_variance));
    for (size_t i = 0; i < d->rows.len; i++) {
        kymo_report_diff_row *row = &d->rows.data[i];
        put_interval(d, row, d->is_memory ? d->variances.data[i] : variance_of_time(d, row));
    }
    put_interval(d, &d->all, all_variance);
    if (d->rows.len > 1)
        qsort(d->rows.data, d->rows.len, sizeof *d->rows.data, compare_rows);
    return KYMO_OK;
}

/* Fills a diff whose reports were made; destroys it on failure. */
static kymo_err finish(kymo_report_diff *d, uint32_t by, kymo_err err, kymo_report_diff **out)
{
    d->places.is_by_line = by == KYMO_BY_LINE;
    if (err == KYMO_OK)
        err = fill(d);
    if (err == KYMO_OK)
        *out = d;
    else
        kymo_report_diff_destroy(d);
    return err;
}

/* ---- memory ---- */

kymo_err kymo_heap_diff_create(const kymo_profile *before,
                               const kymo_heap_report_options *before_options,
                               const kymo_profile *after,
                               const kymo_heap_report_options *after_options,
                               kymo_report_diff **out)
{
    if (before_options->size < sizeof *before_options ||
        after_options->size < sizeof *after_options ||
        before_options->view != after_options->view || before_options->by != after_options->by)
        return KYMO_E_INVALID;
    kymo_heap_report_options options[PARTS] = {*before_options, *after_options, *before_options,
                                               *after_options};
    const kymo_profile *profiles[PARTS] = {before, after, before, after};
    kymo_report_diff *d = calloc(1, sizeof *d);
    kymo_err err = KYMO_OK;
    if (!d)
        return KYMO_E_NOMEM;
    d->is_memory = 1;
    if (before == after && before_options->view == KYMO_HEAP_LIVE) {
        options[LESS].without_ns = after_options->at_ns;
        options[MORE].without_ns = before_options->at_ns;
    }
    for (int part = 0; part < PARTS && err == KYMO_OK; part++)
        err = kymo_heap_report_create(profiles[part], &options[part], &d->reports[part]);
    return finish(d, before_options->by, err, out);
}

/* ---- time ---- */

/* Whether the program was recorded to its end, without dropped samples. */
static int is_whole(const kymo_profile *profile)
{
    if (kymo_profile_quality(profile)->dropped_samples)
        return 0;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        if (kymo_profile_process(profile, i)->is_main)
            return kymo_profile_process(profile, i)->end_ns != 0;
    return 0;
}

/* For a flight recorder, since its oldest sample. */
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
                               const kymo_report_options *options, kymo_report_diff **out)
{
    const kymo_profile *profiles[2] = {before, after};
    kymo_report_diff *d = calloc(1, sizeof *d);
    kymo_err err = KYMO_OK;
    if (!d)
        return KYMO_E_NOMEM;
    d->is_rate =
        !(is_whole(before) && is_whole(after)) && elapsed_ns(before) > 0 && elapsed_ns(after) > 0;
    for (int i = 0; i < 2 && err == KYMO_OK; i++) {
        err = kymo_report_create(profiles[i], options, &d->reports[i]);
        d->scale[i] = d->is_rate ? 1e9 / elapsed_ns(profiles[i]) : 1;
        if (err == KYMO_OK)
            d->weight[i] = weight_of(d->reports[i]) * d->scale[i];
    }
    return finish(d, options ? options->by : (uint32_t)KYMO_BY_FUNCTION, err, out);
}

/* ---- the whole difference ---- */

void kymo_report_diff_destroy(kymo_report_diff *d)
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

const kymo_sample_type *kymo_report_diff_type(const kymo_report_diff *d)
{
    return kymo_report_type(d->reports[BEFORE]);
}

const kymo_report_diff_row *kymo_report_diff_rows(const kymo_report_diff *d, size_t *count)
{
    *count = d->rows.len;
    return d->rows.data;
}

const kymo_report_diff_row *kymo_report_diff_all(const kymo_report_diff *d)
{
    return &d->all;
}

int kymo_report_diff_is_rate(const kymo_report_diff *d)
{
    return d->is_rate;
}
