/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of two recordings are independent, so variances add up.
 *
 * Memory: sums have variances. Within one recording, allocations that live at both moments are the
 * same in both, sampled or not. So only the difference, what was allocated and freed between, is
 * summed up and has an error.
 *
 * Of lifetimes, objects are compared, not bytes, and each row has its histograms. These have no
 * intervals: those of a row are of its number of objects.
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
#include "views/stack_name.h"

#define NORMAL_975 1.959963984540054 /* a normal variable is below it with 97.5 % */

/* before, after: as displayed; less, more: the parts of a change of memory. */
enum part { BEFORE, AFTER, LESS, MORE, PARTS };

struct lifetimes {
    double of[2][KYMO_LIFETIME_BUCKETS];
};

struct kymo_report_diff {
    kymo_report *reports[PARTS]; /* own the names of rows; for time there are two */
    int is_memory;
    int is_by_stack;
    int is_of_lifetimes;
    kymo_diff_normalize normalized;
    double scale[2];                /* converts values before and after to the compared unit */
    double weight[2];               /* average weight of one sample, in the compared unit */
    struct kymo_diff_places places; /* by row */
    kymo_arena stack_names;
    KYMO_VEC(kymo_report_diff_row) rows;
    KYMO_VEC(double) variances;           /* by row, sums in progress */
    KYMO_VEC(struct lifetimes) lifetimes; /* by row as it was found; of lifetimes alone */
    struct lifetimes all_lifetimes;
    kymo_report_diff_row all;
};

/* ---- the values of rows ---- */

static double value_of(const kymo_report_diff *d, const kymo_heap_sum *memory)
{
    return d->is_of_lifetimes ? memory->objects : memory->bytes;
}

static double variance_of(const kymo_report_diff *d, const kymo_heap_sum *memory)
{
    return d->is_of_lifetimes ? memory->objects_variance : memory->bytes_variance;
}

/* from: by bucket; NULL: not of lifetimes. LESS and MORE say the same as the parts before. */
static void add_lifetimes(const kymo_report_diff *d, struct lifetimes *to, enum part part,
                          const double *from)
{
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS && from && part < LESS; i++)
        to->of[part][i] += d->scale[part] * from[i];
}

/* What only the second report knows of a row is shown, too. */
static void add_place(kymo_report_diff_row *to, const kymo_report_row *row)
{
    if (!to->file && row->file) {
        to->file = row->file;
        to->line = row->line;
    }
    if (!to->module)
        to->module = row->module;
}

static kymo_err find_row(kymo_report_diff *d, const kymo_report_row *row, uint32_t *out)
{
    KYMO_TRY(kymo_diff_places_find(
        &d->places, (struct kymo_diff_place){row->name, row->file, row->module, row->line}, out));
    if (*out < d->rows.len) {
        add_place(&d->rows.data[*out], row);
        return KYMO_OK;
    }
    KYMO_TRY(kymo_vec_push(&d->variances, 0));
    if (d->is_of_lifetimes)
        KYMO_TRY(kymo_vec_push(&d->lifetimes, (struct lifetimes){{{0}}}));
    return kymo_vec_push(&d->rows, (kymo_report_diff_row){.name = row->name,
                                                          .file = row->file,
                                                          .module = row->module,
                                                          .line = row->line});
}

/* value: what samples have; memory: what allocations have instead, NULL for samples. */
static void add_part(const kymo_report_diff *d, kymo_report_diff_row *row, double *variance,
                     enum part part, uint64_t value, const kymo_heap_sum *memory)
{
    double scale = d->scale[part & 1];
    double scaled = scale * (memory ? value_of(d, memory) : (double)value);
    if (part == BEFORE)
        row->before += scaled;
    else if (part == AFTER)
        row->after += scaled;
    if (part < LESS)
        return;
    row->change += part == MORE ? scaled : -scaled;
    row->objects += (part == MORE ? scale : -scale) * memory->objects;
    *variance += scale * scale * variance_of(d, memory);
}

static kymo_err add_row(kymo_report_diff *d, enum part part, const kymo_report_row *row)
{
    uint32_t at;
    const kymo_heap_sum *memory = d->is_memory ? &row->memory->self : NULL;
    if (!memory && row->self == 0)
        return KYMO_OK;
    KYMO_TRY(find_row(d, row, &at));
    add_part(d, &d->rows.data[at], &d->variances.data[at], part, row->self, memory);
    if (d->is_of_lifetimes)
        add_lifetimes(d, &d->lifetimes.data[at], part, row->lifetimes);
    return KYMO_OK;
}

/* A node that has something of its own is a row, named by its callers and itself. */
static kymo_err add_stacks(kymo_report_diff *d, enum part part)
{
    size_t n;
    const kymo_report_node *nodes = kymo_report_nodes(d->reports[part], &n);
    struct kymo_stack_path path;
    kymo_err err = KYMO_OK;
    kymo_stack_path_init(&path, d->reports[part]);
    for (size_t i = 0; i < n && err == KYMO_OK; i++) {
        kymo_report_row row = {.self = nodes[i].self, .memory = nodes[i].memory};
        err = kymo_stack_path_enter(&path, &nodes[i]);
        if (err != KYMO_OK || (row.memory ? row.memory->self.samples == 0 : row.self == 0))
            continue;
        row.name = kymo_stack_path_name(&path, &d->stack_names);
        err = row.name ? add_row(d, part, &row) : KYMO_E_NOMEM;
    }
    kymo_stack_path_deinit(&path);
    return err;
}

static kymo_err add_report(kymo_report_diff *d, enum part part, double *all_variance)
{
    size_t n;
    const kymo_report *report = d->reports[part];
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    if (d->is_by_stack)
        KYMO_TRY(add_stacks(d, part));
    for (size_t i = 0; i < n && !d->is_by_stack; i++)
        KYMO_TRY(add_row(d, part, &rows[i]));
    const kymo_heap_totals *totals = kymo_heap_report_totals(report);
    add_part(d, &d->all, all_variance, part, kymo_report_total(report),
             totals ? &totals->sum : NULL);
    add_lifetimes(d, &d->all_lifetimes, part, totals ? totals->lifetimes : NULL);
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

/* Of lifetimes, as many may be freed as before, and live longer: the sum of what changed. */
static double size_of(const kymo_report_diff_row *row)
{
    double size = 0;
    if (!row->lifetimes[0])
        return fabs(row->change);
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++)
        size += fabs(row->lifetimes[1][i] - row->lifetimes[0][i]);
    return size;
}

static int compare_rows(const void *a, const void *b)
{
    const kymo_report_diff_row *x = a;
    const kymo_report_diff_row *y = b;
    double sizes[2] = {size_of(x), size_of(y)};
    if (sizes[0] != sizes[1])
        return sizes[0] > sizes[1] ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : strcmp(x->file ? x->file : "", y->file ? y->file : "");
}

/* Whether the report has rows, and this of none of them. */
static int lacks(const kymo_report *report, const char *(*get)(const kymo_report_row *))
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++)
        if (get(&rows[i]))
            return 0;
    return n > 0;
}

static const char *file_of(const kymo_report_row *row)
{
    return row->file;
}

static const char *module_of(const kymo_report_row *row)
{
    return row->module;
}

static void put_lifetimes(kymo_report_diff_row *row, const struct lifetimes *lifetimes)
{
    row->lifetimes[0] = lifetimes->of[0];
    row->lifetimes[1] = lifetimes->of[1];
}

static kymo_err fill(kymo_report_diff *d)
{
    double all_variance = 0;
    d->all.name = "";
    for (int i = 0; i < 2; i++) {
        d->places.without_file |= lacks(d->reports[i], file_of);
        d->places.without_module |= lacks(d->reports[i], module_of);
    }
    for (int part = 0; part < PARTS && d->reports[part]; part++)
        KYMO_TRY(add_report(d, (enum part)part, &all_variance));
    for (size_t i = 0; i < d->rows.len; i++) {
        kymo_report_diff_row *row = &d->rows.data[i];
        put_interval(d, row, d->is_memory ? d->variances.data[i] : variance_of_time(d, row));
        if (d->is_of_lifetimes)
            put_lifetimes(row, &d->lifetimes.data[i]);
    }
    if (d->is_of_lifetimes)
        put_lifetimes(&d->all, &d->all_lifetimes);
    put_interval(d, &d->all, all_variance);
    if (d->rows.len > 1)
        qsort(d->rows.data, d->rows.len, sizeof *d->rows.data, compare_rows);
    return KYMO_OK;
}

/* ---- what is compared ---- */

static double total_of(const kymo_report_diff *d, enum part part)
{
    const kymo_heap_totals *memory = kymo_heap_report_totals(d->reports[part]);
    return memory ? value_of(d, &memory->sum) : (double)kymo_report_total(d->reports[part]);
}

/* Once there are reports. seconds: how long each profile was recorded; 0: not known. */
static kymo_err normalize(kymo_report_diff *d, kymo_diff_normalize how, const double seconds[2])
{
    int has_totals = total_of(d, BEFORE) > 0 && total_of(d, AFTER) > 0;
    d->normalized = how;
    d->scale[0] = d->scale[1] = 1;
    switch (how) {
    case KYMO_DIFF_AS_IS:
        return KYMO_OK;
    case KYMO_DIFF_BY_TIME:
        if (!(seconds[0] > 0 && seconds[1] > 0))
            return KYMO_E_INVALID;
        d->scale[0] = 1 / seconds[0];
        d->scale[1] = 1 / seconds[1];
        return KYMO_OK;
    case KYMO_DIFF_BY_TOTAL:
        if (has_totals)
            d->scale[1] = total_of(d, BEFORE) / total_of(d, AFTER);
        return KYMO_OK;
    default:
        return KYMO_E_INVALID;
    }
}

/* For a flight recorder, since its oldest sample; for a range of time, since its start. */
static double seconds_of(const kymo_profile *profile)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    uint64_t from_ns = meta->origin_monotonic_ns;
    if (meta->start_ns > from_ns)
        from_ns = meta->start_ns;
    if (kymo_profile_quality(profile)->dropped_samples) {
        from_ns = meta->end_ns;
        for (uint32_t t = 0; t < kymo_profile_count(profile, KYMO_TABLE_THREADS); t++) {
            kymo_samples s = kymo_profile_samples(profile, t);
            if (s.count && s.time_ns[0] < from_ns)
                from_ns = s.time_ns[0];
        }
    }
    return meta->end_ns > from_ns ? (double)(meta->end_ns - from_ns) / 1e9 : 0;
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
                               kymo_diff_normalize how, kymo_report_diff **out)
{
    const double seconds[2] = {seconds_of(before), seconds_of(after)};
    if (before_options->size < sizeof *before_options ||
        after_options->size < sizeof *after_options ||
        before_options->view != after_options->view || before_options->by != after_options->by ||
        (before_options->view == KYMO_HEAP_LIFETIMES && before_options->by == KYMO_BY_STACK))
        return KYMO_E_INVALID;
    kymo_heap_report_options options[PARTS] = {*before_options, *after_options, *before_options,
                                               *after_options};
    const kymo_profile *profiles[PARTS] = {before, after, before, after};
    kymo_report_diff *d = calloc(1, sizeof *d);
    kymo_err err = KYMO_OK;
    if (!d)
        return KYMO_E_NOMEM;
    d->is_memory = 1;
    d->is_by_stack = before_options->by == KYMO_BY_STACK;
    d->is_of_lifetimes = before_options->view == KYMO_HEAP_LIFETIMES;
    how = how == KYMO_DIFF_AUTO ? KYMO_DIFF_AS_IS : how;
    if (before == after && before_options->view == KYMO_HEAP_LIVE && how == KYMO_DIFF_AS_IS) {
        options[LESS].without_ns = after_options->at_ns;
        options[MORE].without_ns = before_options->at_ns;
    }
    for (int part = 0; part < PARTS && err == KYMO_OK; part++) {
        if (d->is_by_stack)
            options[part].by = KYMO_BY_FUNCTION;
        err = kymo_heap_report_create(profiles[part], &options[part], &d->reports[part]);
    }
    if (err == KYMO_OK)
        err = normalize(d, how, seconds);
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

/* The same type of another profile, whose table may have another order. */
static uint32_t kind_in(const kymo_profile *profile, const kymo_sample_type *type)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(types[i].name, type->name) == 0 && strcmp(types[i].unit, type->unit) == 0)
            return i;
    return KYMO_NONE - 1;
}

kymo_err kymo_time_diff_create(const kymo_profile *before, const kymo_profile *after,
                               const kymo_report_options *options, uint32_t after_kind,
                               kymo_diff_normalize how, kymo_report_diff **out)
{
    const kymo_profile *profiles[2] = {before, after};
    const double seconds[2] = {seconds_of(before), seconds_of(after)};
    kymo_report_options o = {.size = sizeof o, .by = KYMO_BY_FUNCTION, .kind = KYMO_SAMPLE_DEFAULT};
    if (options && options->size < sizeof o)
        return KYMO_E_INVALID;
    if (options)
        o = *options;
    kymo_report_diff *d = calloc(1, sizeof *d);
    kymo_err err = KYMO_OK;
    if (!d)
        return KYMO_E_NOMEM;
    d->is_by_stack = o.by == KYMO_BY_STACK;
    o.by = d->is_by_stack ? (uint32_t)KYMO_BY_FUNCTION : o.by;
    for (int i = 0; i < 2 && err == KYMO_OK; i++) {
        if (i == 1)
            o.kind = after_kind != KYMO_SAMPLE_DEFAULT
                         ? after_kind
                         : kind_in(after, kymo_report_type(d->reports[0]));
        err = kymo_report_create(profiles[i], &o, &d->reports[i]);
    }
    if (err == KYMO_OK && how != KYMO_DIFF_BY_TOTAL &&
        strcmp(kymo_report_type(d->reports[0])->unit, kymo_report_type(d->reports[1])->unit) != 0)
        err = KYMO_E_INVALID;
    if (err == KYMO_OK && how == KYMO_DIFF_AUTO) {
        int is_rate = !(is_whole(before) && is_whole(after)) && seconds[0] > 0 && seconds[1] > 0;
        how = is_rate && kymo_report_type(d->reports[0])->adds != KYMO_ADDS_AMOUNT
                  ? KYMO_DIFF_BY_TIME
                  : KYMO_DIFF_AS_IS;
    }
    if (err == KYMO_OK)
        err = normalize(d, how, seconds);
    for (int i = 0; i < 2 && err == KYMO_OK; i++)
        d->weight[i] = weight_of(d->reports[i]) * d->scale[i];
    return finish(d, o.by, err, out);
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
    kymo_vec_deinit(&d->lifetimes);
    kymo_diff_places_deinit(&d->places);
    kymo_arena_deinit(&d->stack_names);
    free(d);
}

const kymo_sample_type *kymo_report_diff_type(const kymo_report_diff *d)
{
    static const kymo_sample_type objects = {
        .size = sizeof objects, .adds = KYMO_ADDS_AMOUNT, .name = "lifetimes", .unit = "objects"};
    return d->is_of_lifetimes ? &objects : kymo_report_type(d->reports[BEFORE]);
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

kymo_diff_normalize kymo_report_diff_normalized(const kymo_report_diff *d)
{
    return d->normalized;
}
