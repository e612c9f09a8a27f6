/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything is computed from one tree of calls (call_tree.c). Weights are added at the innermost
 * nodes and carried up in one pass backwards. A row's total is the sum over its nodes that have no
 * node of the same row above them: that is what counts recursion once, in time linear in the tree,
 * where walking each stack would cost its depth again for each sample.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "views/aggregate_processes.h"
#include "views/call_tree.h"

struct kymo_report {
    const kymo_profile *profile;
    kymo_report_options options;
    struct kymo_call_tree tree;

    KYMO_VEC(kymo_report_row) rows;   /* as those of the tree */
    KYMO_VEC(kymo_report_node) nodes; /* as they are printed */
    KYMO_VEC(kymo_report_thread) threads;
    kymo_report_process *processes;
    size_t n_processes;
    uint64_t total;
    int is_cpu; /* the sample type is CPU time */
};

/* Rows for those that the tree has got since. */
static kymo_err add_rows(kymo_report *r)
{
    for (size_t i = r->rows.len; i < r->tree.rows.len; i++) {
        const struct kymo_call_row *from = &r->tree.rows.data[i];
        kymo_report_row row = {
            .name = from->name, .file = from->file, .module = from->module, .line = from->line};
        KYMO_TRY(kymo_vec_push(&r->rows, row));
    }
    return KYMO_OK;
}

/* The row of a key, and a place for its weights. */
static kymo_err find_row(kymo_report *r, struct kymo_row_key key, uint32_t *row)
{
    KYMO_TRY(kymo_call_tree_row(&r->tree, key, KYMO_NONE, row));
    return add_rows(r);
}

/* Sums the samples by stack, into self (one more entry than stacks: the last is "no stack"), or by
 * thread or process, into rows. */
static kymo_err sum_samples(kymo_report *r, uint64_t *self, uint32_t n_stacks)
{
    const kymo_profile *p = r->profile;
    const uint32_t *order = kymo_profile_thread_order(p);
    uint32_t n_threads = kymo_profile_count(p, KYMO_TABLE_THREADS);
    double period_ns = (double)kymo_profile_meta(p)->period_ns;

    for (uint32_t i = 0; i < n_threads; i++) {
        kymo_samples s = kymo_profile_samples(p, order[i]);
        kymo_report_thread t = {.thread = order[i]};
        for (size_t k = 0; k < s.count; k++) {
            if (s.kind[k] != r->options.kind)
                continue;
            uint32_t stack = s.stack[k] < n_stacks ? s.stack[k] : n_stacks;
            self[stack] = kymo_sum(self[stack], s.weight_ns[k]);
            t.weight = kymo_sum(t.weight, s.weight_ns[k]);
            t.samples++;
        }
        const kymo_thread *thread = kymo_profile_thread(p, order[i]);
        double cpu_ns = (double)thread->cpu_ns - (double)thread->dropped_ns;
        int applies = cpu_ns > 0 && r->is_cpu;
        t.achieved = applies ? (double)t.weight / cpu_ns : (double)__builtin_nanf("");
        t.sampled_rate = applies && period_ns > 0 ? (double)t.samples * period_ns / cpu_ns
                                                  : (double)__builtin_nanf("");
        r->total = kymo_sum(r->total, t.weight);
        KYMO_TRY(kymo_vec_push(&r->threads, t));
        if (!kymo_call_tree_has_stacks(r->options.by) && t.weight > 0) {
            uint32_t row;
            struct kymo_row_key key = {.tag = KYMO_ROW_THREAD, .id = order[i]};
            if (r->options.by == KYMO_BY_PROCESS)
                key = kymo_row_key_of_process(p, kymo_profile_thread(p, order[i])->process);
            KYMO_TRY(find_row(r, key, &row));
            r->rows.data[row].self = kymo_sum(r->rows.data[row].self, t.weight);
            r->rows.data[row].total = r->rows.data[row].self;
        }
    }
    return KYMO_OK;
}

/* Of a node: what it has itself, and with all that it called. */
struct weights {
    uint64_t *self;
    uint64_t *total;
};

static void carry_up(kymo_report *r, const struct weights *w)
{
    for (size_t n = r->tree.nodes.len; n-- > 0;) {
        const struct kymo_call_node *node = &r->tree.nodes.data[n];
        w->total[n] = kymo_sum(w->total[n], w->self[n]);
        r->rows.data[node->row].self = kymo_sum(r->rows.data[node->row].self, w->self[n]);
        if (node->parent != KYMO_NONE)
            w->total[node->parent] = kymo_sum(w->total[node->parent], w->total[n]);
    }
}

/* Puts the tree into the order of printing, and adds up the totals of rows on the way. */
static kymo_err walk_tree(kymo_report *r, const struct weights *w)
{
    struct kymo_call_visit *visits;
    KYMO_TRY(kymo_vec_reserve(&r->nodes, r->tree.nodes.len));
    KYMO_TRY(kymo_call_tree_walk(&r->tree, w->total, &visits));
    for (size_t i = 0; i < r->tree.nodes.len; i++) {
        uint32_t n = visits[i].node;
        uint32_t row = r->tree.nodes.data[n].row;
        if (!visits[i].is_repeated)
            r->rows.data[row].total = kymo_sum(r->rows.data[row].total, w->total[n]);
        r->nodes.data[r->nodes.len++] = (kymo_report_node){
            .row = row, .depth = visits[i].depth, .self = w->self[n], .total = w->total[n]};
    }
    free(visits);
    return KYMO_OK;
}

/* The tree of the stacks that have weight. self: by stack; the last one is "no stack". */
static kymo_err build_tree(kymo_report *r, const uint64_t *self, uint32_t n_stacks)
{
    struct weights w = {0};
    uint32_t *node_of = malloc(((size_t)n_stacks + 1) * sizeof *node_of);
    uint8_t *wanted = malloc((size_t)n_stacks + 1);
    kymo_err err = node_of && wanted ? KYMO_OK : KYMO_E_NOMEM;

    for (size_t s = 0; s <= n_stacks && err == KYMO_OK; s++)
        wanted[s] = self[s] > 0;
    if (err == KYMO_OK)
        err = kymo_call_tree_fold(&r->tree, wanted, node_of);
    if (err == KYMO_OK)
        err = add_rows(r);
    if (err == KYMO_OK) {
        w.self = calloc(r->tree.nodes.len + 1, sizeof *w.self);
        w.total = calloc(r->tree.nodes.len + 1, sizeof *w.total);
        err = w.self && w.total ? KYMO_OK : KYMO_E_NOMEM;
    }
    for (size_t s = 0; s <= n_stacks && err == KYMO_OK; s++)
        if (self[s] > 0)
            w.self[node_of[s]] = kymo_sum(w.self[node_of[s]], self[s]);
    if (err == KYMO_OK) {
        carry_up(r, &w);
        err = walk_tree(r, &w);
    }
    free(w.self);
    free(w.total);
    free(node_of);
    free(wanted);
    return err;
}

static int compare_rows(const void *a, const void *b, void *rows)
{
    const kymo_report_row *ra = (const kymo_report_row *)rows + *(const uint32_t *)a;
    const kymo_report_row *rb = (const kymo_report_row *)rows + *(const uint32_t *)b;
    if (ra->self != rb->self)
        return ra->self > rb->self ? -1 : 1;
    if (ra->total != rb->total)
        return ra->total > rb->total ? -1 : 1;
    int names = strcmp(ra->name, rb->name);
    return names ? names : ra < rb ? -1 : ra > rb;
}

/* Sorts the rows, and has the nodes speak of them by their new places. */
static kymo_err sort_rows(kymo_report *r)
{
    size_t n = r->rows.len;
    uint32_t *order = malloc((n + 1) * sizeof *order);
    uint32_t *place = malloc((n + 1) * sizeof *place);
    kymo_report_row *rows = malloc((n + 1) * sizeof *rows);
    kymo_err err = order && place && rows ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK) {
        for (uint32_t i = 0; i < n; i++)
            order[i] = i;
        qsort_r(order, n, sizeof *order, compare_rows, r->rows.data);
        for (uint32_t i = 0; i < n; i++) {
            rows[i] = r->rows.data[order[i]];
            place[order[i]] = i;
        }
        if (n)
            memcpy(r->rows.data, rows, n * sizeof *rows);
        for (size_t i = 0; i < r->nodes.len; i++)
            r->nodes.data[i].row = place[r->nodes.data[i].row];
    }
    free(order);
    free(place);
    free(rows);
    return err;
}

static kymo_err fill(kymo_report *r)
{
    uint32_t n_stacks = kymo_profile_stacks(r->profile).count;
    uint64_t *self = calloc((size_t)n_stacks + 1, sizeof *self);
    if (!self)
        return KYMO_E_NOMEM;
    kymo_err err = sum_samples(r, self, n_stacks);
    if (err == KYMO_OK && kymo_call_tree_has_stacks(r->options.by))
        err = build_tree(r, self, n_stacks);
    free(self);
    if (err == KYMO_OK && r->is_cpu)
        err = kymo_aggregate_processes(r->profile, r->threads.data, r->threads.len, &r->processes,
                                       &r->n_processes);
    return err == KYMO_OK ? sort_rows(r) : err;
}

kymo_err kymo_report_create(const kymo_profile *profile, const kymo_report_options *options,
                            kymo_report **out)
{
    uint32_t n_types;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &n_types);
    kymo_report_options o = {.size = sizeof o, .by = KYMO_BY_FUNCTION, .kind = KYMO_SAMPLE_DEFAULT};
    if (options && options->size < sizeof o)
        return KYMO_E_INVALID;
    if (options)
        o = *options;
    if (o.kind == KYMO_SAMPLE_DEFAULT)
        o.kind = kymo_profile_default_sample_type(profile);
    if (o.by >= KYMO_BY_COUNT || o.kind >= n_types ||
        (kymo_profile_count(profile, KYMO_TABLE_THREADS) > 0 &&
         !kymo_profile_thread_order(profile)))
        return KYMO_E_INVALID;
    kymo_report *r = calloc(1, sizeof *r);
    if (!r)
        return KYMO_E_NOMEM;
    r->profile = profile;
    r->options = o;
    r->is_cpu = types[o.kind].adds == KYMO_ADDS_CPU_TIME;
    kymo_call_tree_init(&r->tree, profile, o.by);
    kymo_err err = fill(r);
    /* Only needed to build. */
    kymo_call_tree_drop(&r->tree);
    if (err != KYMO_OK) {
        kymo_report_destroy(r);
        return err;
    }
    *out = r;
    return KYMO_OK;
}

void kymo_report_destroy(kymo_report *r)
{
    if (!r)
        return;
    kymo_vec_deinit(&r->rows);
    kymo_vec_deinit(&r->nodes);
    kymo_vec_deinit(&r->threads);
    free(r->processes);
    kymo_call_tree_deinit(&r->tree);
    free(r);
}

uint64_t kymo_report_total(const kymo_report *r)
{
    return r->total;
}

const kymo_report_row *kymo_report_rows(const kymo_report *r, size_t *count)
{
    *count = r->rows.len;
    return r->rows.data;
}

const kymo_report_node *kymo_report_nodes(const kymo_report *r, size_t *count)
{
    *count = r->nodes.len;
    return r->nodes.data;
}

const kymo_report_thread *kymo_report_threads(const kymo_report *r, size_t *count)
{
    *count = r->threads.len;
    return r->threads.data;
}

const kymo_report_process *kymo_report_processes(const kymo_report *r, size_t *count)
{
    *count = r->n_processes;
    return r->processes;
}
