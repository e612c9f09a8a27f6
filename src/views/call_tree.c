/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile are a prefix tree of addresses. One pass turns it into a tree whose nodes
 * are rows (functions, lines, ...): the parent of a stack has a smaller id, so it comes first.
 */
#include "views/call_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "views/allocator_name.h"

void kymo_call_tree_init(struct kymo_call_tree *t, const kymo_profile *profile, uint32_t by)
{
    *t = (struct kymo_call_tree){.profile = profile, .by = by};
}

void kymo_call_tree_drop(struct kymo_call_tree *t)
{
    kymo_vec_deinit(&t->rows);
    kymo_vec_deinit(&t->nodes);
    kymo_index_deinit(&t->row_index);
    kymo_index_deinit(&t->node_index);
    kymo_arena_deinit(&t->scratch);
}

void kymo_call_tree_deinit(struct kymo_call_tree *t)
{
    kymo_call_tree_drop(t);
    kymo_arena_deinit(&t->arena);
}

int kymo_call_tree_has_stacks(uint32_t by)
{
    return by <= KYMO_BY_FILE || by == KYMO_BY_MODULE;
}

uint32_t kymo_call_tree_slots(const struct kymo_call_tree *t)
{
    switch (t->by) {
    case KYMO_BY_THREAD:
        return kymo_profile_count(t->profile, KYMO_TABLE_THREADS);
    case KYMO_BY_PROCESS:
        return kymo_profile_count(t->profile, KYMO_TABLE_PROCESSES);
    case KYMO_BY_SIZE:
        return 65; /* number of bits of a size: 0 to 64 */
    default:
        return kymo_profile_stacks(t->profile).count;
    }
}

/* ---- rows ---- */

static const char *text_or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static const char *module_name(const kymo_profile *p, uint32_t module)
{
    const kymo_module *m = kymo_profile_module(p, module);
    return m ? text_or_null(m->name) : NULL;
}

/* Names of what is no file have brackets of their own. */
static const char *in_brackets(struct kymo_call_tree *t, const char *name)
{
    if (name[0] == '[')
        return name;
    size_t len = strlen(name);
    char *text = kymo_arena_alloc(&t->arena, len + 3, 1);
    if (text)
        snprintf(text, len + 3, "[%s]", name);
    return text;
}

const char *kymo_row_name_of_thread(const kymo_profile *profile, uint32_t thread, kymo_arena *arena)
{
    const kymo_thread *row = kymo_profile_thread(profile, thread);
    size_t cap = strlen(row->name) + 16;
    char *text = kymo_arena_alloc(arena, cap, 1);
    if (text)
        snprintf(text, cap, "%s (%d)", row->name, (int)row->tid);
    return text;
}

/* "1.0 KiB to 2.0 KiB": the upper end is excluded, and twice the lower one. */
static const char *size_name(struct kymo_call_tree *t, uint32_t bits)
{
    char from[32];
    char to[32];
    char *text = kymo_arena_alloc(&t->arena, sizeof from + sizeof to + 4, 1);
    if (text && bits == 0)
        strcpy(text, "0 bytes");
    else if (text && bits < 64)
        snprintf(text, sizeof from + sizeof to + 4, "%s to %s",
                 kymo_format_bytes(from, 1ull << (bits - 1)), kymo_format_bytes(to, 1ull << bits));
    else if (text)
        strcpy(text, "8 EiB and more");
    return text;
}

/* The text of a new row; module: of the first frame with this row. */
static struct kymo_call_row describe(struct kymo_call_tree *t, struct kymo_row_key key,
                                     uint32_t module)
{
    const kymo_profile *p = t->profile;
    struct kymo_call_row row = {.key = key};
    switch (key.tag) {
    case KYMO_ROW_FUNCTION:
    case KYMO_ROW_LINE: {
        const kymo_function *f = kymo_profile_function(p, key.id);
        row.name = kymo_profile_string(p, f->name);
        row.file = text_or_null(kymo_profile_source(p, f->source));
        row.module = module_name(p, f->module != KYMO_NONE ? f->module : module);
        row.line = key.tag == KYMO_ROW_LINE ? key.line : f->start_line;
        break;
    }
    case KYMO_ROW_SOURCE:
        row.name = row.file = kymo_profile_source(p, key.id);
        break;
    case KYMO_ROW_MODULE:
        row.module = module_name(p, key.id);
        row.name = row.module ? row.module : "?";
        if (t->by != KYMO_BY_MODULE)
            row.name = in_brackets(t, row.name);
        break;
    case KYMO_ROW_GENERATED:
        row.name = "[generated code]";
        break;
    case KYMO_ROW_THREAD:
        row.name = kymo_row_name_of_thread(p, key.id, &t->arena);
        break;
    case KYMO_ROW_PROCESS:
        row.name = kymo_profile_process(p, key.id)->name;
        break;
    case KYMO_ROW_SIZE:
        row.name = size_name(t, key.id);
        break;
    case KYMO_ROW_NONE:
        row.name = "[no stack]";
        break;
    }
    return row;
}

/* The row of a key; adds it if needed. module: of its first frame, or KYMO_NONE. */
static kymo_err find_row(struct kymo_call_tree *t, struct kymo_row_key key, uint32_t module,
                         uint32_t *out)
{
    uint64_t words[] = {(uint64_t)key.tag << 32 | key.id, key.line};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&t->row_index, hash, &probe, &at)) {
        const struct kymo_row_key *k = &t->rows.data[at].key;
        if (k->tag == key.tag && k->id == key.id && k->line == key.line) {
            *out = at;
            return KYMO_OK;
        }
    }
    struct kymo_call_row row = describe(t, key, module);
    if (!row.name)
        return KYMO_E_NOMEM;
    at = (uint32_t)t->rows.len;
    KYMO_TRY(kymo_vec_push(&t->rows, row));
    KYMO_TRY(kymo_index_put(&t->row_index, hash, at));
    *out = at;
    return KYMO_OK;
}

/* The key of a frame without (usable) lines. */
static struct kymo_row_key key_of_frame(const kymo_profile *p, const kymo_frame *frame)
{
    if (frame->module == KYMO_NONE)
        return (struct kymo_row_key){.tag = KYMO_ROW_GENERATED};
    return (struct kymo_row_key){.tag = KYMO_ROW_MODULE,
                                 .id = kymo_profile_module_file(p, frame->module)};
}

static struct kymo_row_key key_of_line(const struct kymo_call_tree *t, const kymo_frame *frame,
                                       const kymo_line *line)
{
    const kymo_function *f = kymo_profile_function(t->profile, line->function);
    switch (t->by) {
    case KYMO_BY_LINE:
        return (struct kymo_row_key){
            .tag = KYMO_ROW_LINE, .id = line->function, .line = line->line};
    case KYMO_BY_FILE:
        if (f->source != KYMO_NONE)
            return (struct kymo_row_key){.tag = KYMO_ROW_SOURCE, .id = f->source};
        break;
    case KYMO_BY_MODULE:
        break;
    default:
        return (struct kymo_row_key){.tag = KYMO_ROW_FUNCTION, .id = line->function};
    }
    /* A frame that is only a name has no file and no module: the row is the name. */
    if (frame->address == KYMO_NO_ADDRESS)
        return (struct kymo_row_key){.tag = KYMO_ROW_FUNCTION, .id = line->function};
    return key_of_frame(t->profile, frame);
}

/* ---- nodes ---- */

/* The node of a row below parent; adds it if needed. */
static kymo_err enter(struct kymo_call_tree *t, uint32_t parent, uint32_t row, uint32_t *out)
{
    uint64_t step = (uint64_t)parent << 32 | row;
    uint64_t hash = kymo_hash_words(&step, 1, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    /* Repeated calls within a file, a module or unnamed code are one step. */
    enum kymo_row_tag tag = t->rows.data[row].key.tag;
    if (tag != KYMO_ROW_FUNCTION && tag != KYMO_ROW_LINE && parent != KYMO_NONE &&
        t->nodes.data[parent].row == row) {
        *out = parent;
        return KYMO_OK;
    }
    while (kymo_index_find(&t->node_index, hash, &probe, &at)) {
        if (t->nodes.data[at].parent == parent && t->nodes.data[at].row == row) {
            *out = at;
            return KYMO_OK;
        }
    }
    at = (uint32_t)t->nodes.len;
    if (at >= KYMO_NONE - 1)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_push(&t->nodes, (struct kymo_call_node){.parent = parent, .row = row}));
    KYMO_TRY(kymo_index_put(&t->node_index, hash, at));
    *out = at;
    return KYMO_OK;
}

static int is_allocator(const kymo_profile *p, const kymo_line *line)
{
    const kymo_function *f = kymo_profile_function(p, line->function);
    return kymo_allocator_name(kymo_profile_string(p, f->name));
}

/* From the node of a caller to that of the called frame, through its inlined functions. */
static kymo_err enter_frame(struct kymo_call_tree *t, uint32_t *node, uint32_t frame_id)
{
    const kymo_frame *frame = kymo_profile_frame(t->profile, frame_id);
    uint32_t count;
    const kymo_line *lines = kymo_profile_frame_lines(t->profile, frame_id, &count);
    uint32_t row;
    if (count == 0) {
        KYMO_TRY(find_row(t, key_of_frame(t->profile, frame), frame->module, &row));
        return enter(t, *node, row, node);
    }
    for (uint32_t i = count; i-- > 0;) {
        if (t->skips_allocators && *node != KYMO_NONE && is_allocator(t->profile, &lines[i]))
            continue;
        KYMO_TRY(find_row(t, key_of_line(t, frame, &lines[i]), frame->module, &row));
        KYMO_TRY(enter(t, *node, row, node));
    }
    return KYMO_OK;
}

static kymo_err fold_stacks(struct kymo_call_tree *t, uint8_t *wanted, uint32_t *node_of)
{
    kymo_stacks stacks = kymo_profile_stacks(t->profile);
    for (uint32_t s = stacks.count; s-- > 0;)
        if (wanted[s] && stacks.parent[s] != KYMO_NONE)
            wanted[stacks.parent[s]] = 1;
    for (uint32_t s = 0; s < stacks.count; s++) {
        if (!wanted[s])
            continue;
        uint32_t node = stacks.parent[s] == KYMO_NONE ? KYMO_NONE : node_of[stacks.parent[s]];
        KYMO_TRY(enter_frame(t, &node, stacks.frame[s]));
        node_of[s] = node;
    }
    return KYMO_OK;
}

/* Processes of the same name share a row: a build has hundreds of them. */
static uint32_t first_of_name(const kymo_profile *p, uint32_t process)
{
    const char *name = kymo_profile_process(p, process)->name;
    uint32_t first = 0;
    while (first < process && strcmp(kymo_profile_process(p, first)->name, name) != 0)
        first++;
    return first;
}

static struct kymo_row_key key_of_slot(const struct kymo_call_tree *t, uint32_t slot)
{
    if (slot == kymo_call_tree_slots(t))
        return (struct kymo_row_key){.tag = KYMO_ROW_NONE};
    if (t->by == KYMO_BY_THREAD)
        return (struct kymo_row_key){.tag = KYMO_ROW_THREAD, .id = slot};
    if (t->by == KYMO_BY_PROCESS)
        return (struct kymo_row_key){.tag = KYMO_ROW_PROCESS,
                                     .id = first_of_name(t->profile, slot)};
    return (struct kymo_row_key){.tag = KYMO_ROW_SIZE, .id = slot};
}

kymo_err kymo_call_tree_fold(struct kymo_call_tree *t, uint8_t *wanted, uint32_t *node_of)
{
    uint32_t none = kymo_call_tree_slots(t);
    uint32_t row;
    int has_stacks = kymo_call_tree_has_stacks(t->by);
    if (has_stacks)
        KYMO_TRY(fold_stacks(t, wanted, node_of));
    for (uint32_t slot = has_stacks ? none : 0; slot <= none; slot++) {
        if (!wanted[slot])
            continue;
        KYMO_TRY(find_row(t, key_of_slot(t, slot), KYMO_NONE, &row));
        KYMO_TRY(enter(t, KYMO_NONE, row, &node_of[slot]));
    }
    return KYMO_OK;
}

/* ---- order ---- */

struct order {
    const struct kymo_call_node *nodes;
    const uint64_t *weights;
};

/* Siblings are adjacent, the largest first; equal weights in order of first appearance. */
static int compare_siblings(const void *a, const void *b, void *data)
{
    const struct order *order = data;
    uint32_t ia = *(const uint32_t *)a;
    uint32_t ib = *(const uint32_t *)b;
    uint32_t pa = order->nodes[ia].parent + 1; /* KYMO_NONE + 1 is 0: roots come first */
    uint32_t pb = order->nodes[ib].parent + 1;
    if (pa != pb)
        return pa < pb ? -1 : 1;
    if (order->weights[ia] != order->weights[ib])
        return order->weights[ia] > order->weights[ib] ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

/* Nodes in the order of compare_siblings, and where the children of each begin: those of node i
 * from first[i + 1] to first[i + 2], the roots from first[0] to first[1]. */
static void find_children(const struct kymo_call_tree *t, const uint64_t *weights, uint32_t *sorted,
                          uint32_t *first)
{
    size_t n = t->nodes.len;
    size_t at = 0;
    struct order order = {t->nodes.data, weights};
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = i;
    qsort_r(sorted, n, sizeof *sorted, compare_siblings, &order);
    for (size_t parent = 0; parent <= n; parent++) {
        first[parent] = (uint32_t)at;
        while (at < n && order.nodes[sorted[at]].parent + 1 == (uint32_t)parent)
            at++;
    }
    first[n + 1] = (uint32_t)n;
}

kymo_err kymo_call_tree_walk(struct kymo_call_tree *t, const uint64_t *weights,
                             const struct kymo_call_visit **out)
{
    size_t n = t->nodes.len;
    const struct kymo_call_node *nodes = t->nodes.data;
    uint32_t *sorted = KYMO_CALL_TREE_SCRATCH(t, uint32_t, n);
    uint32_t *first = KYMO_CALL_TREE_SCRATCH(t, uint32_t, n + 2);
    uint32_t *pending = KYMO_CALL_TREE_SCRATCH(t, uint32_t, n);
    uint32_t *depth_of = KYMO_CALL_TREE_SCRATCH(t, uint32_t, n);
    uint32_t *path = KYMO_CALL_TREE_SCRATCH(t, uint32_t, n); /* rows above the current node */
    /* how often a row is in path */
    uint32_t *above = KYMO_CALL_TREE_SCRATCH(t, uint32_t, t->rows.len);
    struct kymo_call_visit *visits = KYMO_CALL_TREE_SCRATCH(t, *visits, n);
    size_t n_pending = 0;
    size_t n_path = 0;
    size_t n_visits = 0;
    if (!sorted || !first || !pending || !depth_of || !path || !above || !visits)
        return KYMO_E_NOMEM;
    find_children(t, weights, sorted, first);
    for (uint32_t c = first[1]; c-- > first[0];)
        pending[n_pending++] = sorted[c];
    while (n_pending > 0) {
        uint32_t i = pending[--n_pending];
        while (n_path > depth_of[i])
            above[path[--n_path]]--;
        visits[n_visits++] = (struct kymo_call_visit){
            .node = i, .depth = depth_of[i], .is_repeated = above[nodes[i].row]++ > 0};
        path[n_path++] = nodes[i].row;
        for (uint32_t c = first[i + 2]; c-- > first[i + 1];) {
            depth_of[sorted[c]] = depth_of[i] + 1;
            pending[n_pending++] = sorted[c];
        }
    }
    *out = visits;
    return KYMO_OK;
}
