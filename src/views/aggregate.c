/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All reports are computed from one tree of calls (call_tree.c), whatever they count. A first pass
 * over the items finds the slots that the tree needs; a second one adds their sums at the innermost
 * nodes, which are then carried up in one pass backwards. A row's total is the sum over its nodes
 * that have no node of the same row above them. So recursion counts once, in time linear in the
 * tree; walking each stack would cost its depth for each sample.
 *
 * Threads, processes and sizes are trees that only have roots.
 */
#include "views/aggregate.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Used while a report is made, in the tree's scratch memory. A pair is a self and a total; pairs
 * of nodes come first, then those of rows of the tree. */
struct scaffold {
    uint32_t *node_of; /* by slot */
    char *pairs;
};

static char *self_of(const kymo_report *r, const struct scaffold *s, size_t pair)
{
    return s->pairs + pair * 2 * r->measure->size;
}

static char *total_of(const kymo_report *r, const struct scaffold *s, size_t pair)
{
    return self_of(r, s, pair) + r->measure->size;
}

static kymo_heap_sums *memory_of(const kymo_report *r, size_t pair)
{
    return r->memory ? &r->memory[pair] : NULL;
}

static struct kymo_report_shown show(const kymo_report *r, const struct scaffold *s, size_t pair)
{
    return r->measure->show(r, self_of(r, s, pair), total_of(r, s, pair), memory_of(r, pair));
}

/* ---- the tree ---- */

static kymo_err build_tree(kymo_report *r, struct scaffold *s)
{
    size_t slots = (size_t)kymo_call_tree_slots(&r->tree) + 1;
    uint8_t *wanted = KYMO_CALL_TREE_SCRATCH(&r->tree, uint8_t, slots);
    struct kymo_report_cursor at = {0};
    const void *sum;
    uint32_t slot;
    s->node_of = KYMO_CALL_TREE_SCRATCH(&r->tree, uint32_t, slots);
    if (!s->node_of || !wanted)
        return KYMO_E_NOMEM;
    while (r->measure->next(r, &at, &slot, &sum))
        wanted[slot] = 1;
    return kymo_call_tree_fold(&r->tree, wanted, s->node_of);
}

static kymo_err add_items(kymo_report *r, struct scaffold *s)
{
    size_t n_nodes = r->tree.nodes.len;
    size_t pairs = n_nodes + r->tree.rows.len;
    void (*merge)(void *sum, const void *other) = r->measure->merge;
    struct kymo_report_cursor at = {0};
    const void *sum;
    uint32_t slot;
    s->pairs =
        kymo_arena_calloc(&r->tree.scratch, pairs * 2 * r->measure->size, _Alignof(max_align_t));
    if (r->is_memory)
        r->memory =
            kymo_arena_calloc(&r->tree.arena, pairs * sizeof *r->memory, _Alignof(kymo_heap_sums));
    if (!s->pairs || (r->is_memory && !r->memory))
        return KYMO_E_NOMEM;
    while (r->measure->next(r, &at, &slot, &sum))
        merge(self_of(r, s, s->node_of[slot]), sum);
    for (size_t n = n_nodes; n-- > 0;) {
        const struct kymo_call_node *node = &r->tree.nodes.data[n];
        merge(total_of(r, s, n), self_of(r, s, n));
        merge(self_of(r, s, n_nodes + node->row), self_of(r, s, n));
        if (node->parent != KYMO_NONE)
            merge(total_of(r, s, node->parent), total_of(r, s, n));
    }
    return KYMO_OK;
}

/* Sorts the tree for printing, and adds up the totals of rows. */
static kymo_err make_nodes(kymo_report *r, const struct scaffold *s)
{
    size_t n = r->tree.nodes.len;
    struct kymo_report_shown *shown = KYMO_CALL_TREE_SCRATCH(&r->tree, *shown, n);
    uint64_t *weights = KYMO_CALL_TREE_SCRATCH(&r->tree, uint64_t, n);
    const struct kymo_call_visit *visits;
    if (!shown || !weights)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        shown[i] = show(r, s, i);
        weights[i] = shown[i].total;
    }
    KYMO_TRY(kymo_vec_reserve(&r->nodes, n));
    KYMO_TRY(kymo_call_tree_walk(&r->tree, weights, &visits));
    for (size_t i = 0; i < n; i++) {
        uint32_t node = visits[i].node;
        uint32_t row = r->tree.nodes.data[node].row;
        if (!visits[i].is_repeated)
            r->measure->merge(total_of(r, s, n + row), total_of(r, s, node));
        if (kymo_call_tree_has_stacks(r->options.by))
            r->nodes.data[r->nodes.len++] = (kymo_report_node){.row = row,
                                                               .depth = visits[i].depth,
                                                               .self = shown[node].self,
                                                               .total = shown[node].total,
                                                               .memory = memory_of(r, node)};
    }
    return KYMO_OK;
}

/* ---- rows ---- */

struct ordered_row {
    kymo_report_row row;
    struct kymo_report_shown shown;
    uint32_t at; /* index in the tree */
};

static struct ordered_row make_row(const kymo_report *r, const struct scaffold *s, uint32_t at)
{
    const struct kymo_call_row *from = &r->tree.rows.data[at];
    size_t pair = r->tree.nodes.len + at;
    struct kymo_report_shown shown = show(r, s, pair);
    kymo_report_row row = {.name = from->name,
                           .file = from->file,
                           .module = from->module,
                           .line = from->line,
                           .self = shown.self,
                           .total = shown.total,
                           .memory = memory_of(r, pair),
                           .lifetimes = r->lifetimes ? r->lifetimes[at] : NULL};
    return (struct ordered_row){row, shown, at};
}

static int compare_rows(const void *a, const void *b, void *report)
{
    const kymo_report *r = report;
    const struct ordered_row *ra = a;
    const struct ordered_row *rb = b;
    const struct kymo_report_shown *x = &ra->shown;
    const struct kymo_report_shown *y = &rb->shown;
    if (r->options.by == KYMO_BY_SIZE)
        return r->tree.rows.data[ra->at].key.id < r->tree.rows.data[rb->at].key.id ? -1 : 1;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->self_part != y->self_part)
        return x->self_part > y->self_part ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    if (x->total_part != y->total_part)
        return x->total_part > y->total_part ? -1 : 1;
    int names = strcmp(ra->row.name, rb->row.name);
    return names ? names : ra->at < rb->at ? -1 : ra->at > rb->at;
}

/* Moves rows into their order, and renumbers them in nodes. */
static kymo_err make_rows(kymo_report *r, const struct scaffold *s)
{
    uint32_t n = (uint32_t)r->tree.rows.len;
    struct ordered_row *rows = KYMO_CALL_TREE_SCRATCH(&r->tree, *rows, n);
    uint32_t *place = KYMO_CALL_TREE_SCRATCH(&r->tree, uint32_t, n);
    if (!rows || !place)
        return KYMO_E_NOMEM;
    KYMO_TRY(kymo_vec_reserve(&r->rows, n));
    for (uint32_t i = 0; i < n; i++)
        rows[i] = make_row(r, s, i);
    qsort_r(rows, n, sizeof *rows, compare_rows, r);
    for (uint32_t i = 0; i < n; i++) {
        r->rows.data[r->rows.len++] = rows[i].row;
        place[rows[i].at] = i;
    }
    for (size_t i = 0; i < r->nodes.len; i++)
        r->nodes.data[i].row = place[r->nodes.data[i].row];
    return KYMO_OK;
}

/* ---- the whole report ---- */

static kymo_err fill(kymo_report *r)
{
    struct scaffold s = {0};
    uint32_t n;
    KYMO_TRY(kymo_report_sum_samples(r));
    KYMO_TRY(build_tree(r, &s));
    KYMO_TRY(add_items(r, &s));
    KYMO_TRY(make_nodes(r, &s));
    if (r->measure->complete)
        KYMO_TRY(r->measure->complete(r, s.node_of));
    KYMO_TRY(make_rows(r, &s));
    if (kymo_profile_sample_types(r->profile, &n)[r->options.kind].adds != KYMO_ADDS_CPU_TIME)
        return KYMO_OK;
    return kymo_aggregate_processes(r->profile, r->threads.data, r->threads.len, &r->processes,
                                    &r->n_processes);
}

kymo_err kymo_report_begin(const kymo_profile *profile, const kymo_report_options *options,
                           const struct kymo_measure *measure, kymo_report **out)
{
    uint32_t n_types;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &n_types);
    kymo_report_options o = *options;
    if (o.kind == KYMO_SAMPLE_DEFAULT)
        o.kind = kymo_profile_default_sample_type(profile);
    if (o.kind >= n_types || (kymo_profile_count(profile, KYMO_TABLE_THREADS) > 0 &&
                              !kymo_profile_thread_order(profile)))
        return KYMO_E_INVALID;
    kymo_report *r = calloc(1, sizeof *r);
    if (!r)
        return KYMO_E_NOMEM;
    r->profile = profile;
    r->options = o;
    r->type = &types[o.kind];
    r->measure = measure;
    kymo_call_tree_init(&r->tree, profile, o.by);
    *out = r;
    return KYMO_OK;
}

kymo_err kymo_report_finish(kymo_report *r, kymo_report **out)
{
    kymo_err err = fill(r);
    kymo_heap_select_deinit(&r->selection);
    kymo_call_tree_drop(&r->tree);
    if (err == KYMO_OK)
        *out = r;
    else
        kymo_report_destroy(r);
    return err;
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

const kymo_sample_type *kymo_report_type(const kymo_report *r)
{
    return r->type;
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
