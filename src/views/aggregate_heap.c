/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every view is a choice of rows of the tables of blocks (heap_select.c), which are summed up by
 * stack as estimates with their variances: these are added like weights, since blocks are drawn one
 * by one. Sums by stack are folded into the tree of calls (call_tree.c) and carried up in one pass;
 * intervals are made of the sums last.
 */
#include <stdlib.h>
#include <string.h>

#include "views/call_tree.h"
#include "views/heap_select.h"

/* What a row sums up before it has intervals. */
struct row_sums {
    struct kymo_estimate self;
    struct kymo_estimate total;
};

struct kymo_heap_report {
    struct kymo_heap_selection selection;
    struct kymo_call_tree tree;
    KYMO_VEC(struct row_sums) sums; /* by row of the tree, while it is built */
    KYMO_VEC(kymo_heap_row) rows;
    KYMO_VEC(kymo_heap_node) nodes;
    double (*lifetimes)[KYMO_LIFETIME_BUCKETS]; /* by row of the tree, and of all; or NULL */
    kymo_heap_totals totals;
};

static kymo_heap_sum with_intervals(const kymo_heap_report *r, const struct kymo_estimate *e,
                                    int takes_all_kinds)
{
    struct kymo_estimate_whole whole = r->selection.all;
    struct kymo_estimate_range objects, bytes;
    if (r->selection.options.view == KYMO_HEAP_MAPPED)
        whole.rate = 1; /* each mapping is there */
    kymo_estimate_objects(e, &whole, takes_all_kinds, &objects);
    kymo_estimate_bytes(e, &whole, &bytes);
    return (kymo_heap_sum){.objects = objects.value,
                           .objects_low = objects.low,
                           .objects_high = objects.high,
                           .objects_variance = e->variance_objects,
                           .bytes = bytes.value,
                           .bytes_low = bytes.low,
                           .bytes_high = bytes.high,
                           .bytes_variance = e->variance_bytes,
                           .samples = e->samples};
}

/* A row without a sample says nothing. */
static kymo_heap_sum of_row(const kymo_heap_report *r, const struct kymo_estimate *e)
{
    return e->samples ? with_intervals(r, e, 0) : (kymo_heap_sum){0};
}

/* Of all that was asked for: counted, or with intervals. */
static kymo_heap_sum of_all(const kymo_heap_report *r)
{
    const struct kymo_estimate_whole *all = &r->selection.all;
    kymo_heap_sum sum = with_intervals(r, &all->sum, 1);
    if (all->objects > 0)
        sum.objects = sum.objects_low = sum.objects_high = all->objects;
    if (all->bytes > 0)
        sum.bytes = sum.bytes_low = sum.bytes_high = all->bytes;
    return sum;
}

/* Short-lived blocks cost by their number, others by their bytes. */
static int is_by_objects(const kymo_heap_report *r)
{
    uint32_t view = r->selection.options.view;
    return view == KYMO_HEAP_LIFETIMES || view == KYMO_HEAP_TEMPORARY;
}

static double rank_of(const kymo_heap_report *r, const kymo_heap_sum *sum)
{
    return is_by_objects(r) ? sum->objects : sum->bytes;
}

static kymo_err add_rows(kymo_heap_report *r)
{
    while (r->sums.len < r->tree.rows.len)
        KYMO_TRY(kymo_vec_push(&r->sums, (struct row_sums){0}));
    return KYMO_OK;
}

static uint32_t bits_of(uint64_t bytes)
{
    return bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
}

static struct kymo_row_key key_of(const kymo_heap_report *r, const struct kymo_heap_item *item)
{
    switch (r->tree.by) {
    case KYMO_BY_THREAD:
        if (kymo_profile_thread(r->tree.profile, item->thread))
            return (struct kymo_row_key){.tag = KYMO_ROW_THREAD, .id = item->thread};
        return (struct kymo_row_key){.tag = KYMO_ROW_NONE};
    case KYMO_BY_PROCESS:
        return kymo_row_key_of_process(r->tree.profile, item->process);
    default:
        return (struct kymo_row_key){.tag = KYMO_ROW_SIZE, .id = bits_of(item->size)};
    }
}

/* ---- rows that are no stacks ---- */

static kymo_err sum_by_key(kymo_heap_report *r, uint32_t *row_of)
{
    struct kymo_heap_cursor at = {0};
    struct kymo_heap_item item;
    for (size_t i = 0; kymo_heap_select_next(&r->selection, &at, &item); i++) {
        KYMO_TRY(kymo_call_tree_row(&r->tree, key_of(r, &item), KYMO_NONE, &row_of[i]));
        KYMO_TRY(add_rows(r));
        kymo_estimate_merge(&r->sums.data[row_of[i]].self, &item.sum);
        kymo_estimate_merge(&r->sums.data[row_of[i]].total, &item.sum);
    }
    return KYMO_OK;
}

/* ---- rows of stacks ---- */

static kymo_err walk_tree(kymo_heap_report *r, const struct kymo_estimate *self,
                          const struct kymo_estimate *total)
{
    size_t n = r->tree.nodes.len;
    struct kymo_call_visit *visits = NULL;
    uint64_t *weights = malloc((n + 1) * sizeof *weights);
    kymo_err err = weights ? kymo_vec_reserve(&r->nodes, n) : KYMO_E_NOMEM;
    for (size_t i = 0; i < n && err == KYMO_OK; i++) {
        kymo_heap_sum sum = of_row(r, &total[i]);
        double rank = rank_of(r, &sum);
        weights[i] = rank > 0 ? rank < 0x1p63 ? (uint64_t)rank : 1ull << 63 : 0;
    }
    if (err == KYMO_OK)
        err = kymo_call_tree_walk(&r->tree, weights, &visits);
    for (size_t i = 0; i < n && err == KYMO_OK; i++) {
        uint32_t node = visits[i].node;
        uint32_t row = r->tree.nodes.data[node].row;
        if (!visits[i].is_repeated)
            kymo_estimate_merge(&r->sums.data[row].total, &total[node]);
        r->nodes.data[r->nodes.len++] = (kymo_heap_node){.row = row,
                                                         .depth = visits[i].depth,
                                                         .self = of_row(r, &self[node]),
                                                         .total = of_row(r, &total[node])};
    }
    free(weights);
    free(visits);
    return err;
}

/* The tree of all stacks that have something, and the row of each block. */
static kymo_err sum_by_stack(kymo_heap_report *r, uint32_t *row_of)
{
    uint32_t n_stacks = kymo_profile_stacks(r->tree.profile).count;
    uint32_t *node_of = malloc(((size_t)n_stacks + 1) * sizeof *node_of);
    uint8_t *wanted = calloc((size_t)n_stacks + 1, 1);
    struct kymo_estimate *self = NULL;
    struct kymo_estimate *total = NULL;
    struct kymo_heap_cursor at = {0};
    struct kymo_heap_item item;
    kymo_err err = node_of && wanted ? KYMO_OK : KYMO_E_NOMEM;

    if (err != KYMO_OK)
        goto done;
    while (kymo_heap_select_next(&r->selection, &at, &item))
        wanted[item.stack < n_stacks ? item.stack : n_stacks] = 1;
    err = kymo_call_tree_fold(&r->tree, wanted, node_of);
    if (err == KYMO_OK)
        err = add_rows(r);
    if (err != KYMO_OK)
        goto done;
    self = calloc(r->tree.nodes.len + 1, sizeof *self);
    total = calloc(r->tree.nodes.len + 1, sizeof *total);
    err = self && total ? KYMO_OK : KYMO_E_NOMEM;
    if (err != KYMO_OK)
        goto done;

    at = (struct kymo_heap_cursor){0};
    for (size_t i = 0; kymo_heap_select_next(&r->selection, &at, &item); i++) {
        uint32_t node = node_of[item.stack < n_stacks ? item.stack : n_stacks];
        row_of[i] = r->tree.nodes.data[node].row;
        kymo_estimate_merge(&self[node], &item.sum);
    }
    for (size_t n = r->tree.nodes.len; n-- > 0;) {
        const struct kymo_call_node *node = &r->tree.nodes.data[n];
        kymo_estimate_merge(&total[n], &self[n]);
        kymo_estimate_merge(&r->sums.data[node->row].self, &self[n]);
        if (node->parent != KYMO_NONE)
            kymo_estimate_merge(&total[node->parent], &total[n]);
    }
    err = walk_tree(r, self, total);
done:
    free(self);
    free(total);
    free(node_of);
    free(wanted);
    return err;
}

/* ---- lives ---- */

static kymo_err sum_lifetimes(kymo_heap_report *r, const uint32_t *row_of)
{
    struct kymo_heap_cursor at = {0};
    struct kymo_heap_item item;
    size_t n = r->tree.rows.len;
    r->lifetimes = calloc(n + 1, sizeof *r->lifetimes);
    if (!r->lifetimes)
        return KYMO_E_NOMEM;
    for (size_t i = 0; kymo_heap_select_next(&r->selection, &at, &item); i++) {
        uint32_t bucket = bits_of(item.life_ns);
        bucket = bucket ? bucket - 1 : 0;
        bucket = bucket < KYMO_LIFETIME_BUCKETS ? bucket : KYMO_LIFETIME_BUCKETS - 1;
        r->lifetimes[row_of[i]][bucket] += item.sum.objects;
        r->lifetimes[n][bucket] += item.sum.objects;
    }
    r->totals.lifetimes = r->lifetimes[n];
    return KYMO_OK;
}

/* ---- order ---- */

/* By their places in the tree. */
static int compare_rows(const void *a, const void *b, void *report)
{
    const kymo_heap_report *r = report;
    uint32_t ia = *(const uint32_t *)a;
    uint32_t ib = *(const uint32_t *)b;
    const kymo_heap_row *ra = &r->rows.data[ia];
    const kymo_heap_row *rb = &r->rows.data[ib];
    if (r->tree.by == KYMO_BY_SIZE) {
        uint64_t sa = r->tree.rows.data[ia].key.id;
        uint64_t sb = r->tree.rows.data[ib].key.id;
        return sa < sb ? -1 : sa > sb;
    }
    if (rank_of(r, &ra->self) != rank_of(r, &rb->self))
        return rank_of(r, &ra->self) > rank_of(r, &rb->self) ? -1 : 1;
    if (rank_of(r, &ra->total) != rank_of(r, &rb->total))
        return rank_of(r, &ra->total) > rank_of(r, &rb->total) ? -1 : 1;
    int names = strcmp(ra->name, rb->name);
    return names ? names : ia < ib ? -1 : ia > ib;
}

static void make_rows(kymo_heap_report *r)
{
    for (size_t i = 0; i < r->tree.rows.len; i++) {
        const struct kymo_call_row *row = &r->tree.rows.data[i];
        const struct row_sums *sums = &r->sums.data[i];
        r->rows.data[r->rows.len++] =
            (kymo_heap_row){.name = row->name,
                            .file = row->file,
                            .module = row->module,
                            .line = row->line,
                            .self = of_row(r, &sums->self),
                            .total = of_row(r, &sums->total),
                            .lifetimes = r->lifetimes ? r->lifetimes[i] : NULL};
    }
}

static kymo_err sort_rows(kymo_heap_report *r)
{
    size_t n = r->tree.rows.len;
    uint32_t *order = malloc((n + 1) * sizeof *order);
    uint32_t *place = malloc((n + 1) * sizeof *place);
    kymo_heap_row *sorted = malloc((n + 1) * sizeof *sorted);
    kymo_err err = order && place && sorted ? kymo_vec_reserve(&r->rows, n) : KYMO_E_NOMEM;
    if (err != KYMO_OK)
        goto done;
    make_rows(r);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, compare_rows, r);
    for (uint32_t i = 0; i < n; i++) {
        place[order[i]] = i;
        sorted[i] = r->rows.data[order[i]];
    }
    if (n)
        memcpy(r->rows.data, sorted, n * sizeof *sorted);
    for (size_t i = 0; i < r->nodes.len; i++)
        r->nodes.data[i].row = place[r->nodes.data[i].row];
done:
    free(order);
    free(place);
    free(sorted);
    return err;
}

/* ---- the whole ---- */

static kymo_err fill(kymo_heap_report *r)
{
    uint32_t *row_of = malloc((r->selection.count + 1) * sizeof *row_of);
    kymo_err err = row_of ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK)
        err =
            kymo_call_tree_has_stacks(r->tree.by) ? sum_by_stack(r, row_of) : sum_by_key(r, row_of);
    if (err == KYMO_OK && r->selection.options.view == KYMO_HEAP_LIFETIMES)
        err = sum_lifetimes(r, row_of);
    free(row_of);
    return err == KYMO_OK ? sort_rows(r) : err;
}

static void put_totals(kymo_heap_report *r)
{
    const struct kymo_heap_selection *s = &r->selection;
    const kymo_profile *p = r->tree.profile;
    kymo_heap_totals *t = &r->totals;
    t->size = sizeof *t;
    t->view = s->options.view;
    t->allocated = of_all(r);
    t->sum = t->view == KYMO_HEAP_ALLOC ? t->allocated : with_intervals(r, &s->sum, 1);
    t->young = of_row(r, &s->young);
    t->elsewhere = of_row(r, &s->elsewhere);
    t->at_ns = s->options.at_ns;
    t->min_age_ns = s->min_age_ns;
    for (uint32_t i = 0; i < kymo_profile_count(p, KYMO_TABLE_PROCESSES); i++) {
        const kymo_heap *heap = kymo_profile_heap(p, i);
        if (!heap || heap->rate == 0)
            continue;
        t->recorded++;
        t->rate = heap->rate > t->rate ? heap->rate : t->rate;
        t->lost += heap->lost;
        t->lost_frees += heap->lost_frees;
        t->is_partial |= heap->is_partial;
    }
}

kymo_err kymo_heap_report_create(const kymo_profile *profile,
                                 const kymo_heap_report_options *options, kymo_heap_report **out)
{
    kymo_heap_report_options o = {.size = sizeof o,
                                  .view = KYMO_HEAP_LIVE,
                                  .at_ns = KYMO_HEAP_END,
                                  .min_age_ns = KYMO_HEAP_AUTO};
    if (options && options->size < sizeof o)
        return KYMO_E_INVALID;
    if (options)
        o = *options;
    if (o.view >= KYMO_HEAP_VIEW_COUNT || (o.by >= KYMO_BY_COUNT && o.by != KYMO_BY_SIZE) ||
        o.youngest_percent > 100 ||
        (kymo_profile_count(profile, KYMO_TABLE_THREADS) > 0 &&
         !kymo_profile_thread_order(profile)))
        return KYMO_E_INVALID;
    kymo_heap_report *r = calloc(1, sizeof *r);
    if (!r)
        return KYMO_E_NOMEM;
    kymo_call_tree_init(&r->tree, profile, o.by);
    r->tree.skips_allocators = !o.all_frames;
    kymo_err err = kymo_heap_select_init(&r->selection, profile, &o);
    if (err == KYMO_OK)
        err = fill(r);
    if (err == KYMO_OK)
        put_totals(r);
    kymo_heap_select_deinit(&r->selection);
    kymo_call_tree_drop(&r->tree);
    kymo_vec_deinit(&r->sums);
    if (err != KYMO_OK) {
        kymo_heap_report_destroy(r);
        return err;
    }
    *out = r;
    return KYMO_OK;
}

void kymo_heap_report_destroy(kymo_heap_report *r)
{
    if (!r)
        return;
    kymo_call_tree_deinit(&r->tree);
    kymo_vec_deinit(&r->rows);
    kymo_vec_deinit(&r->nodes);
    free(r->lifetimes);
    free(r);
}

const kymo_heap_totals *kymo_heap_report_totals(const kymo_heap_report *r)
{
    return &r->totals;
}

const kymo_heap_row *kymo_heap_report_rows(const kymo_heap_report *r, size_t *count)
{
    *count = r->rows.len;
    return r->rows.data;
}

const kymo_heap_node *kymo_heap_report_nodes(const kymo_heap_report *r, size_t *count)
{
    *count = r->nodes.len;
    return r->nodes.data;
}
