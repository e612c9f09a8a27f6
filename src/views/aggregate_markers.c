/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markers are assigned to rows in one pass, which also stores the duration of each interval with
 * its row. The durations are sorted once, by row and length, so percentiles are exact. This needs
 * 16 bytes per interval while the report is made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/f64.h"
#include "base/sum.h"
#include "kymo/marker_abi.h"
#include "kymo/report.h"
#include "views/call_tree.h"

/* The key of a row: ids that do not count are KYMO_NONE. */
struct key {
    uint32_t name;
    uint32_t category;
    uint32_t schema;
    uint32_t thread;
};

struct duration {
    uint64_t ns;
    uint32_t row;
};

struct kymo_marker_report {
    const kymo_profile *profile;
    kymo_marker_report_by by;
    kymo_arena arena; /* names that the profile does not have */
    KYMO_VEC(kymo_marker_row) rows;
    KYMO_VEC(struct key) keys; /* by row, until they are sorted */
    kymo_index row_index;
    KYMO_VEC(struct duration) durations;
    KYMO_VEC(kymo_counter_row) counters;
    kymo_marker_row all;
};

/* ---- rows ---- */

static struct key key_of(kymo_marker_report_by by, uint32_t name, uint32_t category,
                         uint32_t schema, uint32_t thread)
{
    struct key key = {KYMO_NONE, KYMO_NONE, KYMO_NONE, KYMO_NONE};
    switch (by) {
    case KYMO_MARKERS_BY_CATEGORY:
        key.category = category;
        break;
    case KYMO_MARKERS_BY_TYPE:
        key.schema = schema;
        break;
    case KYMO_MARKERS_BY_THREAD:
        key.thread = thread;
        break;
    default:
        key.name = name;
        key.category = category;
    }
    return key;
}

/* NULL with *err set: no memory. */
static const char *category_name(kymo_marker_report *r, uint32_t id, kymo_err *err)
{
    const kymo_profile *p = r->profile;
    const kymo_marker_category *c = kymo_profile_marker_category(p, id);
    const kymo_marker_category *parent = c ? kymo_profile_marker_category(p, c->parent) : NULL;
    if (!c)
        return NULL;
    const char *name = kymo_profile_string(p, c->name);
    if (!parent)
        return name;
    const char *of = kymo_profile_string(p, parent->name);
    size_t cap = strlen(of) + strlen(name) + sizeof " / ";
    char *text = kymo_arena_alloc(&r->arena, cap, 1);
    if (text)
        snprintf(text, cap, "%s / %s", of, name);
    else
        *err = KYMO_E_NOMEM;
    return text;
}

static kymo_err describe(kymo_marker_report *r, struct key key, kymo_marker_row *row)
{
    const kymo_profile *p = r->profile;
    const kymo_schema *schema = kymo_profile_schema(p, key.schema);
    kymo_err err = KYMO_OK;
    *row = (kymo_marker_row){0};
    switch (r->by) {
    case KYMO_MARKERS_BY_CATEGORY:
        row->name = category_name(r, key.category, &err);
        row->name = row->name ? row->name : "[no category]";
        break;
    case KYMO_MARKERS_BY_TYPE:
        row->name = schema ? kymo_profile_string(p, schema->name) : "[no type]";
        break;
    case KYMO_MARKERS_BY_THREAD:
        row->name = kymo_row_name_of_thread(p, key.thread, &r->arena);
        break;
    default:
        row->name = kymo_profile_string(p, key.name);
        row->category = category_name(r, key.category, &err);
    }
    return row->name ? err : KYMO_E_NOMEM;
}

static kymo_err find_row(kymo_marker_report *r, struct key key, uint32_t *out)
{
    uint64_t words[] = {(uint64_t)key.name << 32 | key.category,
                        (uint64_t)key.schema << 32 | key.thread};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    kymo_marker_row row;
    for (size_t probe = 0; kymo_index_find(&r->row_index, hash, &probe, out);)
        if (memcmp(&r->keys.data[*out], &key, sizeof key) == 0)
            return KYMO_OK;
    KYMO_TRY(describe(r, key, &row));
    *out = (uint32_t)r->rows.len;
    KYMO_TRY(kymo_vec_push(&r->keys, key));
    KYMO_TRY(kymo_vec_push(&r->rows, row));
    return kymo_index_put(&r->row_index, hash, *out);
}

static kymo_err add_marker(kymo_marker_report *r, const kymo_marker *m)
{
    uint32_t row;
    KYMO_TRY(find_row(r, key_of(r->by, m->name, m->category, m->schema, m->thread), &row));
    r->rows.data[row].count++;
    if (m->phase == KYMO_MARKER_INSTANT)
        return KYMO_OK;
    if (m->phase != KYMO_MARKER_INTERVAL) {
        r->rows.data[row].unfinished++;
        return KYMO_OK;
    }
    uint64_t ns = m->end_ns > m->start_ns ? m->end_ns - m->start_ns : 0;
    return kymo_vec_push(&r->durations, (struct duration){ns, row});
}

static void add_loss(kymo_marker_row *row, const kymo_marker_losses *losses)
{
    row->lost = kymo_sum(row->lost, losses->lost);
    row->capped = kymo_sum(row->capped, losses->capped);
    row->cut = kymo_sum(row->cut, losses->cut);
}

static kymo_err add_losses(kymo_marker_report *r)
{
    for (uint32_t i = 0; i < kymo_profile_count(r->profile, KYMO_TABLE_MARKER_LOSSES); i++) {
        const kymo_marker_losses *l = kymo_profile_marker_losses(r->profile, i);
        uint32_t row;
        add_loss(&r->all, l);
        if (r->by == KYMO_MARKERS_BY_THREAD || !(l->lost || l->capped || l->cut))
            continue;
        KYMO_TRY(find_row(r, key_of(r->by, l->name, l->category, l->schema, KYMO_NONE), &row));
        add_loss(&r->rows.data[row], l);
    }
    return KYMO_OK;
}

/* ---- figures ---- */

static int compare_ns(const void *a, const void *b)
{
    const struct duration *x = a;
    const struct duration *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static int compare_durations(const void *a, const void *b)
{
    const struct duration *x = a;
    const struct duration *y = b;
    return x->row != y->row ? (x->row < y->row ? -1 : 1) : compare_ns(a, b);
}

static uint32_t bucket_of(uint64_t ns)
{
    uint32_t bucket = 0;
    while (bucket + 1 < KYMO_HISTOGRAM_BUCKETS && ns >> bucket >= (uint64_t)KYMO_HISTOGRAM_FIRST_NS)
        bucket++;
    return bucket;
}

/* The smallest duration that at least this percentage of them does not exceed. */
static uint64_t percentile(const struct duration *sorted, size_t count, unsigned percent)
{
    size_t rank = (count * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0].ns;
}

static void put_figures(kymo_marker_row *row, const struct duration *sorted, size_t count)
{
    row->intervals = count;
    for (size_t i = 0; i < count; i++) {
        row->total_ns = kymo_sum(row->total_ns, sorted[i].ns);
        row->histogram[bucket_of(sorted[i].ns)]++;
    }
    row->min_ns = sorted[0].ns;
    row->p50_ns = percentile(sorted, count, 50);
    row->p95_ns = percentile(sorted, count, 95);
    row->max_ns = sorted[count - 1].ns;
}

static void sum_up(kymo_marker_report *r)
{
    struct duration *d = r->durations.data;
    size_t count = r->durations.len;
    if (count > 1)
        qsort(d, count, sizeof *d, compare_durations);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && d[end].row == d[first].row)
            end++;
        put_figures(&r->rows.data[d[first].row], d + first, end - first);
    }
    r->all.name = "";
    for (size_t i = 0; i < r->rows.len; i++) {
        r->all.count += r->rows.data[i].count;
        r->all.unfinished += r->rows.data[i].unfinished;
    }
    if (count == 0)
        return;
    qsort(d, count, sizeof *d, compare_ns);
    put_figures(&r->all, d, count);
}

static int compare_rows(const void *a, const void *b)
{
    const kymo_marker_row *x = a;
    const kymo_marker_row *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : strcmp(x->category ? x->category : "", y->category ? y->category : "");
}

/* ---- counters ---- */

static kymo_err add_counter(kymo_marker_report *r, uint32_t id)
{
    kymo_counts c = kymo_profile_counts(r->profile, id);
    int is_f64 = (kymo_profile_counter(r->profile, id)->flags & KYMO_COUNTER_IS_F64) != 0;
    if (c.count == 0)
        return KYMO_OK;
    kymo_counter_row row = {.counter = id,
                            .count = c.count,
                            .first = c.value[0],
                            .last = c.value[c.count - 1],
                            .min = c.value[0],
                            .max = c.value[0],
                            .operations = c.operations[c.count - 1]};
    for (uint32_t i = 1; i < c.count; i++) {
        row.min = kymo_word_is_less(c.value[i], row.min, is_f64) ? c.value[i] : row.min;
        row.max = kymo_word_is_less(row.max, c.value[i], is_f64) ? c.value[i] : row.max;
    }
    return kymo_vec_push(&r->counters, row);
}

/* ---- the whole report ---- */

static kymo_err fill(kymo_marker_report *r)
{
    for (uint32_t t = 0; t < kymo_profile_count(r->profile, KYMO_TABLE_THREADS); t++) {
        kymo_markers markers = kymo_profile_markers(r->profile, t);
        for (size_t i = 0; i < markers.count; i++)
            KYMO_TRY(add_marker(r, &markers.rows[i]));
    }
    KYMO_TRY(add_losses(r));
    sum_up(r);
    if (r->rows.len > 1)
        qsort(r->rows.data, r->rows.len, sizeof *r->rows.data, compare_rows);
    for (uint32_t i = 0; i < kymo_profile_count(r->profile, KYMO_TABLE_COUNTERS); i++)
        KYMO_TRY(add_counter(r, i));
    return KYMO_OK;
}

/* No longer needed after building. */
static void drop_scaffold(kymo_marker_report *r)
{
    kymo_vec_deinit(&r->keys);
    kymo_vec_deinit(&r->durations);
    kymo_index_deinit(&r->row_index);
}

kymo_err kymo_marker_report_create(const kymo_profile *profile, kymo_marker_report_by by,
                                   kymo_marker_report **out)
{
    if ((unsigned)by >= KYMO_MARKERS_BY_COUNT ||
        (kymo_profile_count(profile, KYMO_TABLE_THREADS) > 0 &&
         !kymo_profile_thread_order(profile)))
        return KYMO_E_INVALID;
    kymo_marker_report *r = calloc(1, sizeof *r);
    if (!r)
        return KYMO_E_NOMEM;
    r->profile = profile;
    r->by = by;
    kymo_arena_init(&r->arena);
    kymo_err err = fill(r);
    drop_scaffold(r);
    if (err != KYMO_OK) {
        kymo_marker_report_destroy(r);
        return err;
    }
    *out = r;
    return KYMO_OK;
}

void kymo_marker_report_destroy(kymo_marker_report *r)
{
    if (!r)
        return;
    drop_scaffold(r);
    kymo_vec_deinit(&r->rows);
    kymo_vec_deinit(&r->counters);
    kymo_arena_deinit(&r->arena);
    free(r);
}

const kymo_marker_row *kymo_marker_report_rows(const kymo_marker_report *report, size_t *count)
{
    *count = report->rows.len;
    return report->rows.data;
}

const kymo_marker_row *kymo_marker_report_all(const kymo_marker_report *report)
{
    return &report->all;
}

const kymo_counter_row *kymo_marker_report_counters(const kymo_marker_report *report, size_t *count)
{
    *count = report->counters.len;
    return report->counters.data;
}
