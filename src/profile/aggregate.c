/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything is computed from one tree of calls. The stacks of a profile are a prefix tree already;
 * it is folded into one whose nodes are rows (functions, lines, ...) instead of addresses, in one
 * pass, since the parent of a stack has a smaller id. Weights are added at the innermost nodes and
 * carried up in one pass backwards. A row's total is the sum over its nodes that have no node of
 * the same row above them: that is what counts recursion once, in time linear in the tree, where
 * walking each stack would cost its depth again for each sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "kymo/report.h"

/* What makes two frames the same row. */
enum key_tag {
    KEY_FUNCTION,
    KEY_LINE,
    KEY_SOURCE,
    KEY_MODULE,
    KEY_GENERATED,
    KEY_THREAD,
    KEY_PROCESS,
    KEY_NONE
};

struct key {
    enum key_tag tag;
    uint32_t id;
    uint32_t line;
};

struct node {
    uint32_t parent; /* KYMO_NONE: called by nobody */
    uint32_t row;
    uint64_t self;
    uint64_t total;
};

struct kymo_report {
    const kymo_profile *profile;
    kymo_report_options options;
    kymo_arena arena; /* names that the profile does not have */

    KYMO_VEC(kymo_report_row) rows;
    KYMO_VEC(struct key) keys; /* by row */
    kymo_index row_index;

    KYMO_VEC(struct node) tree; /* parents before children */
    kymo_index node_index;
    KYMO_VEC(kymo_report_node) nodes; /* as they are printed */
    KYMO_VEC(kymo_report_thread) threads;
    uint64_t total;
};

/* Weights of a damaged recording may be anything; their sum stays at the top instead of starting
 * again at 0. */
static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static const char *text_or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static const char *module_name(const kymo_profile *p, uint32_t module)
{
    const kymo_module *m = kymo_profile_module(p, module);
    return m ? text_or_null(m->name) : NULL;
}

static const char *in_brackets(kymo_report *r, const char *name)
{
    size_t len = strlen(name);
    char *text = kymo_arena_alloc(&r->arena, len + 3, 1);
    if (text)
        snprintf(text, len + 3, "[%s]", name);
    return text;
}

static const char *thread_name(kymo_report *r, uint32_t thread)
{
    const kymo_thread *t = kymo_profile_thread(r->profile, thread);
    size_t cap = strlen(t->name) + 16;
    char *text = kymo_arena_alloc(&r->arena, cap, 1);
    if (text)
        snprintf(text, cap, "%s (%d)", t->name, (int)t->tid);
    return text;
}

/* The text of a new row; module is of the frame that it was first seen in. */
static kymo_report_row describe(kymo_report *r, struct key key, uint32_t module)
{
    const kymo_profile *p = r->profile;
    kymo_report_row row = {0};
    switch (key.tag) {
    case KEY_FUNCTION:
    case KEY_LINE: {
        const kymo_function *f = kymo_profile_function(p, key.id);
        row.name = kymo_profile_string(p, f->name);
        row.file = text_or_null(kymo_profile_source(p, f->source));
        row.module = module_name(p, f->module != KYMO_NONE ? f->module : module);
        row.line = key.tag == KEY_LINE ? key.line : f->start_line;
        break;
    }
    case KEY_SOURCE:
        row.name = row.file = kymo_profile_source(p, key.id);
        break;
    case KEY_MODULE:
        row.module = module_name(p, key.id);
        row.name = row.module ? row.module : "?";
        if (r->options.by != KYMO_BY_MODULE)
            row.name = in_brackets(r, row.name);
        break;
    case KEY_GENERATED:
        row.name = "[generated code]";
        break;
    case KEY_THREAD:
        row.name = thread_name(r, key.id);
        break;
    case KEY_PROCESS:
        row.name = kymo_profile_process(p, key.id)->name;
        break;
    case KEY_NONE:
        row.name = "[no stack]";
        break;
    }
    return row;
}

static kymo_err find_row(kymo_report *r, struct key key, uint32_t module, uint32_t *out)
{
    uint64_t words[] = {(uint64_t)key.tag << 32 | key.id, key.line};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&r->row_index, hash, &probe, &at)) {
        const struct key *k = &r->keys.data[at];
        if (k->tag == key.tag && k->id == key.id && k->line == key.line) {
            *out = at;
            return KYMO_OK;
        }
    }
    kymo_report_row row = describe(r, key, module);
    if (!row.name)
        return KYMO_E_NOMEM;
    at = (uint32_t)r->rows.len;
    KYMO_TRY(kymo_vec_push(&r->keys, key));
    KYMO_TRY(kymo_vec_push(&r->rows, row));
    KYMO_TRY(kymo_index_put(&r->row_index, hash, at));
    *out = at;
    return KYMO_OK;
}

/* The key of a frame that has no (or no usable) lines. */
static struct key key_of_frame(const kymo_profile *p, const kymo_frame *frame)
{
    if (frame->module == KYMO_NONE)
        return (struct key){.tag = KEY_GENERATED};
    return (struct key){.tag = KEY_MODULE, .id = kymo_profile_module_file(p, frame->module)};
}

static struct key key_of_line(const kymo_report *r, const kymo_frame *frame, const kymo_line *line)
{
    const kymo_function *f = kymo_profile_function(r->profile, line->function);
    switch (r->options.by) {
    case KYMO_BY_LINE:
        return (struct key){.tag = KEY_LINE, .id = line->function, .line = line->line};
    case KYMO_BY_FILE:
        if (f->source != KYMO_NONE)
            return (struct key){.tag = KEY_SOURCE, .id = f->source};
        break;
    case KYMO_BY_MODULE:
        break;
    default:
        return (struct key){.tag = KEY_FUNCTION, .id = line->function};
    }
    /* A frame that is only a name has no file and no module: it is shown as what it says. */
    if (frame->address == KYMO_NO_ADDRESS)
        return (struct key){.tag = KEY_FUNCTION, .id = line->function};
    return key_of_frame(r->profile, frame);
}

/* The node of row below parent; made if it is new. */
static kymo_err enter(kymo_report *r, uint32_t parent, uint32_t row, uint32_t *out)
{
    uint64_t step = (uint64_t)parent << 32 | row;
    uint64_t hash = kymo_hash_words(&step, 1, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    /* A file, a module or code without names calls itself all the time; that is one step. */
    enum key_tag tag = r->keys.data[row].tag;
    if (tag != KEY_FUNCTION && tag != KEY_LINE && parent != KYMO_NONE &&
        r->tree.data[parent].row == row) {
        *out = parent;
        return KYMO_OK;
    }
    while (kymo_index_find(&r->node_index, hash, &probe, &at)) {
        if (r->tree.data[at].parent == parent && r->tree.data[at].row == row) {
            *out = at;
            return KYMO_OK;
        }
    }
    at = (uint32_t)r->tree.len;
    if (at >= KYMO_NONE - 1)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_push(&r->tree, (struct node){.parent = parent, .row = row}));
    KYMO_TRY(kymo_index_put(&r->node_index, hash, at));
    *out = at;
    return KYMO_OK;
}

/* From the node of a caller to that of a frame it called: through all that was inlined there. */
static kymo_err enter_frame(kymo_report *r, uint32_t *node, uint32_t frame_id)
{
    const kymo_frame *frame = kymo_profile_frame(r->profile, frame_id);
    uint32_t count;
    const kymo_line *lines = kymo_profile_frame_lines(r->profile, frame_id, &count);
    uint32_t row;
    if (count == 0) {
        KYMO_TRY(find_row(r, key_of_frame(r->profile, frame), frame->module, &row));
        return enter(r, *node, row, node);
    }
    for (uint32_t i = count; i-- > 0;) {
        KYMO_TRY(find_row(r, key_of_line(r, frame, &lines[i]), frame->module, &row));
        KYMO_TRY(enter(r, *node, row, node));
    }
    return KYMO_OK;
}

static int calls_each_other(uint32_t by)
{
    return by != KYMO_BY_THREAD && by != KYMO_BY_PROCESS;
}

/* Processes of one name share a row: a build has hundreds of them. */
static struct key key_of_process(const kymo_profile *p, uint32_t process)
{
    const char *name = kymo_profile_process(p, process)->name;
    uint32_t first = 0;
    while (first < process && strcmp(kymo_profile_process(p, first)->name, name) != 0)
        first++;
    return (struct key){.tag = KEY_PROCESS, .id = first};
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
            self[stack] = add(self[stack], s.weight_ns[k]);
            t.weight = add(t.weight, s.weight_ns[k]);
            t.samples++;
        }
        double cpu_ns = (double)kymo_profile_thread(p, order[i])->cpu_ns;
        int applies = cpu_ns > 0 && r->options.kind == KYMO_SAMPLE_CPU;
        t.achieved = applies ? (double)t.weight / cpu_ns : (double)__builtin_nanf("");
        t.sampled_rate = applies && period_ns > 0 ? (double)t.samples * period_ns / cpu_ns
                                                  : (double)__builtin_nanf("");
        r->total = add(r->total, t.weight);
        KYMO_TRY(kymo_vec_push(&r->threads, t));
        if (!calls_each_other(r->options.by) && t.weight > 0) {
            uint32_t row;
            struct key key = {.tag = KEY_THREAD, .id = order[i]};
            if (r->options.by == KYMO_BY_PROCESS)
                key = key_of_process(p, kymo_profile_thread(p, order[i])->process);
            KYMO_TRY(find_row(r, key, KYMO_NONE, &row));
            r->rows.data[row].self = add(r->rows.data[row].self, t.weight);
            r->rows.data[row].total = r->rows.data[row].self;
        }
    }
    return KYMO_OK;
}

/* Folds the stacks that have weight, and those below them, into the tree. */
static kymo_err build_tree(kymo_report *r, uint64_t *self, uint32_t n_stacks)
{
    kymo_stacks stacks = kymo_profile_stacks(r->profile);
    uint32_t *node_of = malloc(((size_t)n_stacks + 1) * sizeof *node_of);
    uint8_t *wanted = calloc((size_t)n_stacks + 1, 1);
    kymo_err err = node_of && wanted ? KYMO_OK : KYMO_E_NOMEM;

    for (uint32_t s = n_stacks; s-- > 0 && err == KYMO_OK;) {
        wanted[s] |= self[s] > 0;
        if (wanted[s] && stacks.parent[s] != KYMO_NONE)
            wanted[stacks.parent[s]] = 1;
    }
    for (uint32_t s = 0; s < n_stacks && err == KYMO_OK; s++) {
        if (!wanted[s])
            continue;
        uint32_t node = stacks.parent[s] == KYMO_NONE ? KYMO_NONE : node_of[stacks.parent[s]];
        err = enter_frame(r, &node, stacks.frame[s]);
        if (err != KYMO_OK)
            break;
        node_of[s] = node;
        r->tree.data[node].self = add(r->tree.data[node].self, self[s]);
    }
    if (err == KYMO_OK && self[n_stacks] > 0) {
        uint32_t row;
        uint32_t node;
        err = find_row(r, (struct key){.tag = KEY_NONE}, KYMO_NONE, &row);
        if (err == KYMO_OK)
            err = enter(r, KYMO_NONE, row, &node);
        if (err == KYMO_OK)
            r->tree.data[node].self = self[n_stacks];
    }
    for (size_t n = r->tree.len; n-- > 0 && err == KYMO_OK;) {
        struct node *node = &r->tree.data[n];
        node->total = add(node->total, node->self);
        r->rows.data[node->row].self = add(r->rows.data[node->row].self, node->self);
        if (node->parent != KYMO_NONE)
            r->tree.data[node->parent].total = add(r->tree.data[node->parent].total, node->total);
    }
    free(node_of);
    free(wanted);
    return err;
}

/* Siblings together, the largest first; where weights are equal, in the order of first sight. */
static int compare_siblings(const void *a, const void *b, void *tree)
{
    const struct node *nodes = tree;
    uint32_t ia = *(const uint32_t *)a;
    uint32_t ib = *(const uint32_t *)b;
    const struct node *na = &nodes[ia];
    const struct node *nb = &nodes[ib];
    /* KYMO_NONE + 1 is 0: those without a parent come first. */
    if (na->parent != nb->parent)
        return na->parent + 1 < nb->parent + 1 ? -1 : 1;
    if (na->total != nb->total)
        return na->total > nb->total ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

/* Puts the tree into the order of printing, and adds up the totals of rows on the way. */
static kymo_err walk_tree(kymo_report *r)
{
    size_t n = r->tree.len;
    uint32_t *sorted = malloc((n + 1) * sizeof *sorted);
    uint32_t *first = malloc((n + 2) * sizeof *first); /* of children in sorted; [0]: the roots */
    uint32_t *pending = malloc((n + 1) * sizeof *pending);
    uint32_t *depth_of = malloc((n + 1) * sizeof *depth_of);
    uint32_t *path = malloc((n + 1) * sizeof *path);          /* rows above the current node */
    uint32_t *above = calloc(r->rows.len + 1, sizeof *above); /* how often a row is in path */
    kymo_err err = sorted && first && pending && depth_of && path && above ? KYMO_OK : KYMO_E_NOMEM;
    size_t n_pending = 0;
    size_t n_path = 0;

    if (err == KYMO_OK)
        err = kymo_vec_reserve(&r->nodes, n);
    if (err != KYMO_OK)
        goto done;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = i;
    qsort_r(sorted, n, sizeof *sorted, compare_siblings, r->tree.data);
    size_t at = 0;
    for (size_t parent = 0; parent <= n; parent++) {
        first[parent] = (uint32_t)at;
        while (at < n && r->tree.data[sorted[at]].parent + 1 == (uint32_t)parent)
            at++;
    }
    first[n + 1] = (uint32_t)n;

    for (uint32_t c = first[1]; c-- > first[0];) {
        depth_of[sorted[c]] = 0;
        pending[n_pending++] = sorted[c];
    }
    while (n_pending > 0) {
        uint32_t i = pending[--n_pending];
        const struct node *node = &r->tree.data[i];
        while (n_path > depth_of[i])
            above[path[--n_path]]--;
        if (above[node->row]++ == 0)
            r->rows.data[node->row].total = add(r->rows.data[node->row].total, node->total);
        path[n_path++] = node->row;
        err = kymo_vec_push(&r->nodes, (kymo_report_node){.row = node->row,
                                                          .depth = depth_of[i],
                                                          .self = node->self,
                                                          .total = node->total});
        if (err != KYMO_OK)
            break;
        for (uint32_t c = first[i + 2]; c-- > first[i + 1];) {
            depth_of[sorted[c]] = depth_of[i] + 1;
            pending[n_pending++] = sorted[c];
        }
    }
done:
    free(sorted);
    free(first);
    free(pending);
    free(depth_of);
    free(path);
    free(above);
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
    if (err == KYMO_OK && calls_each_other(r->options.by)) {
        err = build_tree(r, self, n_stacks);
        if (err == KYMO_OK)
            err = walk_tree(r);
    }
    free(self);
    return err == KYMO_OK ? sort_rows(r) : err;
}

kymo_err kymo_report_create(const kymo_profile *profile, const kymo_report_options *options,
                            kymo_report **out)
{
    kymo_report_options o = {.size = sizeof o, .by = KYMO_BY_FUNCTION, .kind = KYMO_SAMPLE_CPU};
    if (options && options->size < sizeof o)
        return KYMO_E_INVALID;
    if (options)
        o = *options;
    if (o.by >= KYMO_BY_COUNT || o.kind >= KYMO_SAMPLE_KIND_COUNT ||
        (kymo_profile_count(profile, KYMO_TABLE_THREADS) > 0 &&
         !kymo_profile_thread_order(profile)))
        return KYMO_E_INVALID;
    kymo_report *r = calloc(1, sizeof *r);
    if (!r)
        return KYMO_E_NOMEM;
    r->profile = profile;
    r->options = o;
    kymo_arena_init(&r->arena);
    kymo_err err = fill(r);
    /* Only needed to build. */
    kymo_vec_deinit(&r->tree);
    kymo_vec_deinit(&r->keys);
    kymo_index_deinit(&r->row_index);
    kymo_index_deinit(&r->node_index);
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
    kymo_vec_deinit(&r->tree);
    kymo_vec_deinit(&r->keys);
    kymo_vec_deinit(&r->rows);
    kymo_vec_deinit(&r->nodes);
    kymo_vec_deinit(&r->threads);
    kymo_index_deinit(&r->row_index);
    kymo_index_deinit(&r->node_index);
    kymo_arena_deinit(&r->arena);
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
