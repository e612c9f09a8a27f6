/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_tree.c - samples, or heap allocations, as trees of names: one tree for each name of a thread.
 *
 * Stacks of a profile differ by address, and are merged by what they show: name and module. A
 * node's children are found through one index of (parent, name). A stack is turned into nodes when
 * a thread first has it; the nodes of one thread's stacks are kept until the next thread.
 *
 * Nodes with less than SMALLEST_PART of the whole would be narrower than a pixel. They are merged
 * into one node below their caller. With more than NODES_MAX nodes, that part is doubled until
 * there are fewer. At LARGEST_PART there are few nodes of each depth: if there are still too many,
 * the tree is deep, and the lower half of it is merged, repeatedly. So the size of the file is
 * bounded, and sums stay exact up to the largest number.
 */
#include "encode/svg/svg_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "encode/collapsed/collapsed_heap.h"
#include "encode/encoder_heap.h"

enum { SMALLEST_PART = 10000, LARGEST_PART = 16, NODES_MAX = 20000 };
#define SMALL_NAME "[too small to show]"
#define DEEP_NAME "[too deep to show]"

void kymo_svg_tree_init(struct kymo_svg_tree *tree)
{
    *tree = (struct kymo_svg_tree){.least = 0};
}

void kymo_svg_tree_deinit(struct kymo_svg_tree *tree)
{
    kymo_vec_deinit(&tree->modules);
    kymo_vec_deinit(&tree->names);
    kymo_vec_deinit(&tree->roots);
    kymo_vec_deinit(&tree->nodes);
    kymo_index_deinit(&tree->module_index);
    kymo_index_deinit(&tree->name_index);
    kymo_index_deinit(&tree->root_index);
    kymo_index_deinit(&tree->node_index);
    kymo_arena_deinit(&tree->arena);
}

/* ---- names ---- */

static kymo_err add_module(struct kymo_svg_tree *t, const char *text, uint32_t *module)
{
    uint64_t hash = kymo_hash_bytes(text, strlen(text), kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&t->module_index, hash, &probe, module);)
        if (strcmp(t->modules.data[*module], text) == 0)
            return KYMO_OK;
    *module = (uint32_t)t->modules.len;
    KYMO_TRY(kymo_vec_push(&t->modules, text));
    return kymo_index_put(&t->module_index, hash, *module);
}

/* Copies a text that belongs to the caller. */
static kymo_err add_name(struct kymo_svg_tree *t, const char *text, uint32_t module,
                         int is_borrowed, uint32_t *name)
{
    size_t len = strlen(text);
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret() + module);
    for (size_t probe = 0; kymo_index_find(&t->name_index, hash, &probe, name);)
        if (t->names.data[*name].module == module && strcmp(t->names.data[*name].text, text) == 0)
            return KYMO_OK;
    const char *kept = is_borrowed ? text : kymo_arena_strndup(&t->arena, text, len);
    if (!kept)
        return KYMO_E_NOMEM;
    *name = (uint32_t)t->names.len;
    struct kymo_svg_name row = {kept, module};
    KYMO_TRY(kymo_vec_push(&t->names, row));
    return kymo_index_put(&t->name_index, hash, *name);
}

static kymo_err add_root(struct kymo_svg_tree *t, const char *process, const char *thread,
                         uint32_t *root)
{
    uint64_t words[] = {kymo_hash_bytes(process, strlen(process), kymo_hash_secret()),
                        kymo_hash_bytes(thread, strlen(thread), kymo_hash_secret())};
    uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&t->root_index, hash, &probe, root);)
        if (strcmp(t->roots.data[*root].process, process) == 0 &&
            strcmp(t->roots.data[*root].thread, thread) == 0)
            return KYMO_OK;
    *root = (uint32_t)t->roots.len;
    struct kymo_svg_root row = {process, thread};
    KYMO_TRY(kymo_vec_push(&t->roots, row));
    return kymo_index_put(&t->root_index, hash, *root);
}

static kymo_err add_node(struct kymo_svg_tree *t, int32_t parent, uint32_t name, int32_t *node)
{
    uint64_t key = (uint64_t)(uint32_t)parent << 32 | name;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    uint32_t found;
    for (size_t probe = 0; kymo_index_find(&t->node_index, hash, &probe, &found);)
        if (t->nodes.data[found].parent == parent && t->nodes.data[found].name == name) {
            *node = (int32_t)found;
            return KYMO_OK;
        }
    if (t->nodes.len >= INT32_MAX)
        return KYMO_E_TOO_BIG;
    struct kymo_svg_node row = {.parent = parent, .name = name};
    *node = (int32_t)t->nodes.len;
    KYMO_TRY(kymo_vec_push(&t->nodes, row));
    return kymo_index_put(&t->node_index, hash, (uint32_t)*node);
}

/* ---- stacks ---- */

#define NO_NODE INT32_MIN

struct adding {
    struct kymo_svg_tree *t;
    kymo_encoder *encoder;
    const kymo_profile *p;
    int which;
    int32_t *node_of;         /* by stack: its node in the current thread's tree; NO_NODE: not
                               * yet */
    KYMO_VEC(uint32_t) known; /* stacks that have a node */
    KYMO_VEC(uint32_t) path;
};

static const char *module_name(const kymo_profile *p, uint32_t module)
{
    return module != KYMO_NONE ? p->modules.data[module].name : "";
}

static kymo_err add_frame(struct adding *a, uint32_t frame, int32_t *node)
{
    const kymo_frame *f = &a->p->frames.data[frame];
    char label[KYMO_STRING_MAX + 32];
    uint32_t module;
    uint32_t name;
    if (f->line_count == 0) {
        kymo_profile_frame_label(a->p, frame, label, sizeof label);
        KYMO_TRY(add_module(a->t, module_name(a->p, f->module), &module));
        KYMO_TRY(add_name(a->t, label, module, 0, &name));
        return add_node(a->t, *node, name, node);
    }
    for (uint32_t i = f->line_count; i-- > 0;) {
        const kymo_line *line = &a->p->lines.data[f->first_line + i];
        const kymo_function *function = &a->p->functions.data[line->function];
        uint32_t of = function->module != KYMO_NONE ? function->module : f->module;
        KYMO_TRY(add_module(a->t, module_name(a->p, of), &module));
        KYMO_TRY(add_name(a->t, kymo_profile_string(a->p, function->name), module, 1, &name));
        KYMO_TRY(add_node(a->t, *node, name, node));
    }
    return KYMO_OK;
}

/* The innermost node of a stack below a root; adds it and all its callers. */
static kymo_err find_node(struct adding *a, uint32_t root, uint32_t stack, int32_t *node)
{
    *node = -1 - (int32_t)root;
    if (stack == KYMO_NONE) {
        uint32_t name;
        KYMO_TRY(add_name(a->t, KYMO_NO_STACK_NAME, 0, 1, &name));
        return add_node(a->t, *node, name, node);
    }
    a->path.len = 0;
    for (; stack != KYMO_NONE && a->node_of[stack] == NO_NODE;
         stack = a->p->stack_parent.data[stack])
        KYMO_TRY(kymo_vec_push(&a->path, stack));
    if (stack != KYMO_NONE)
        *node = a->node_of[stack];
    while (a->path.len > 0) {
        uint32_t next = a->path.data[--a->path.len];
        KYMO_TRY(add_frame(a, a->p->stack_frame.data[next], node));
        KYMO_TRY(kymo_vec_push(&a->known, next));
        a->node_of[next] = *node;
    }
    return KYMO_OK;
}

static kymo_err add_weight(struct adding *a, uint32_t root, uint32_t stack, uint64_t weight)
{
    int32_t node;
    if (weight == 0)
        return KYMO_OK;
    KYMO_TRY(find_node(a, root, stack, &node));
    uint64_t *self = &a->t->nodes.data[node].self[a->which];
    *self = kymo_sum(*self, weight);
    return KYMO_OK;
}

/* ---- threads ---- */

static kymo_err add_samples(struct adding *a, uint32_t thread, uint32_t root)
{
    const kymo_sample_columns *s = &a->p->samples.data[thread];
    uint32_t kind = kymo_encoder_type(a->encoder);
    for (size_t i = 0; i < s->count; i++)
        if (s->kind[i] == kind)
            KYMO_TRY(add_weight(a, root, s->stack[i], s->weight_ns[i]));
    return kymo_encoder_step(a->encoder, s->count);
}

static kymo_err add_blocks(struct adding *a, const kymo_collapsed_blocks *blocks, uint32_t thread,
                           uint32_t root)
{
    for (size_t i = kymo_collapsed_first_block(blocks, thread);
         i < blocks->len && blocks->data[i].thread == thread; i++)
        KYMO_TRY(add_weight(a, root, blocks->data[i].stack, blocks->data[i].bytes));
    return KYMO_OK;
}

static kymo_err add_threads(struct adding *a, const kymo_collapsed_blocks *blocks)
{
    for (uint32_t i = 0; i < a->p->threads.len; i++) {
        const kymo_thread *thread = &a->p->threads.data[i];
        uint32_t root;
        KYMO_TRY(add_root(a->t, a->p->processes.data[thread->process].name, thread->name, &root));
        KYMO_TRY(blocks ? add_blocks(a, blocks, i, root) : add_samples(a, i, root));
        for (size_t k = 0; k < a->known.len; k++)
            a->node_of[a->known.data[k]] = NO_NODE;
        a->known.len = 0;
    }
    return KYMO_OK;
}

static kymo_err add_profile(struct kymo_svg_tree *tree, kymo_encoder *encoder, int which)
{
    const kymo_profile *p = encoder->profile;
    struct adding a = {.t = tree, .encoder = encoder, .p = p, .which = which};
    kymo_collapsed_blocks blocks = {0};
    int is_heap = kymo_heap_shown(encoder) != KYMO_ENCODE_TIME;
    uint32_t none;
    kymo_err err = add_module(tree, "", &none);
    a.node_of = malloc((p->stack_frame.len + 1) * sizeof *a.node_of);
    if (!a.node_of)
        err = KYMO_E_NOMEM;
    for (size_t i = 0; a.node_of && i < p->stack_frame.len; i++)
        a.node_of[i] = NO_NODE;
    if (err == KYMO_OK && is_heap)
        err = kymo_collapsed_find_blocks(encoder, &blocks);
    if (err == KYMO_OK)
        err = add_threads(&a, is_heap ? &blocks : NULL);
    free(a.node_of);
    kymo_vec_deinit(&a.known);
    kymo_vec_deinit(&a.path);
    kymo_vec_deinit(&blocks);
    return err;
}

kymo_err kymo_svg_tree_add_both(struct kymo_svg_tree *tree, kymo_encoder *encoder)
{
    const kymo_encode_options *options = encoder->options;
    KYMO_TRY(add_profile(tree, encoder, 0));
    if (!options || !options->before)
        return KYMO_OK;
    kymo_encoder other = *encoder;
    kymo_encode_options was = *options;
    const kymo_sample_type *type = &encoder->profile->sample_types[kymo_encoder_type(encoder)];
    was.at_ns = options->from_ns;
    was.kind = options->before_kind ? options->before_kind - 1
                                    : kymo_encoder_type_like(options->before, type);
    if (was.kind == KYMO_NONE)
        return kymo_error_set(encoder->detail, KYMO_E_INVALID, 0,
                              "the profile to compare with has no sample type '%s'", type->name);
    other.options = &was;
    other.profile = options->before;
    return add_profile(tree, &other, 1);
}

/* ---- merging small and deep nodes ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* By node: the larger of its weights in the two profiles, with its descendants. */
static uint64_t *sum_up(const struct kymo_svg_tree *t, uint64_t whole[2])
{
    size_t n = t->nodes.len;
    uint64_t *total = calloc(2 * n + 1, sizeof *total);
    for (size_t i = n; total && i-- > 0;) {
        const struct kymo_svg_node *node = &t->nodes.data[i];
        for (int k = 0; k < 2; k++) {
            uint64_t *own = &total[2 * i + (size_t)k];
            uint64_t *above =
                node->parent >= 0 ? &total[2 * (size_t)node->parent + (size_t)k] : &whole[k];
            *own = kymo_sum(*own, node->self[k]);
            *above = kymo_sum(*above, *own);
        }
    }
    for (size_t i = 0; total && i < n; i++)
        total[i] = larger(total[2 * i], total[2 * i + 1]);
    return total;
}

/* By node: its depth. */
static uint32_t *find_depths(const struct kymo_svg_tree *t)
{
    uint32_t *depth = malloc((t->nodes.len + 1) * sizeof *depth);
    for (size_t i = 0; depth && i < t->nodes.len; i++) {
        int32_t parent = t->nodes.data[i].parent;
        depth[i] = parent >= 0 ? depth[parent] + 1 : 0;
    }
    return depth;
}

struct pruning {
    uint64_t *total;
    uint32_t *depth;
    int32_t *now;    /* by node: its new number, or that of the node it is merged into */
    uint32_t levels; /* depths that are kept */
    uint32_t small;  /* names */
    uint32_t deep;
};

static size_t count_kept(const struct pruning *p, size_t n, uint64_t least)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += p->total[i] >= least && p->depth[i] < p->levels;
    return count;
}

static void choose(struct kymo_svg_tree *t, struct pruning *p, uint64_t whole)
{
    t->least = whole / SMALLEST_PART + 1;
    p->levels = NODES_MAX; /* the largest possible depth */
    while (count_kept(p, t->nodes.len, t->least) > NODES_MAX) {
        if (t->least <= whole / LARGEST_PART)
            t->least *= 2;
        else
            p->levels /= 2;
    }
}

/* Builds tree->nodes again: kept nodes, and one merged node below each. */
static kymo_err keep(struct kymo_svg_tree *t, const struct kymo_svg_node *old, size_t n,
                     const struct pruning *p)
{
    int32_t *now = p->now;
    for (size_t i = 0; i < n; i++) {
        int32_t parent = old[i].parent >= 0 ? now[old[i].parent] : old[i].parent;
        uint32_t above = parent >= 0 ? t->nodes.data[parent].name : KYMO_NONE;
        int is_small = p->total[i] < t->least;
        int is_out = is_small || p->depth[i] >= p->levels;
        /* below a merged node all is merged */
        if (is_out && (above == p->small || above == p->deep))
            now[i] = parent;
        else
            KYMO_TRY(add_node(t, parent,
                              is_small ? p->small
                              : is_out ? p->deep
                                       : old[i].name,
                              &now[i]));
        uint64_t *self = t->nodes.data[now[i]].self;
        for (int k = 0; k < 2; k++)
            self[k] = kymo_sum(self[k], old[i].self[k]);
    }
    return KYMO_OK;
}

/* Removes unused names, and numbers the others again. */
static kymo_err drop_names(struct kymo_svg_tree *t)
{
    uint32_t *now = malloc((t->names.len + 1) * sizeof *now);
    uint32_t count = 0;
    if (!now)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < t->names.len; i++)
        now[i] = KYMO_NONE;
    for (size_t i = 0; i < t->nodes.len; i++)
        now[t->nodes.data[i].name] = 0;
    for (size_t i = 0; i < t->names.len; i++)
        if (now[i] != KYMO_NONE) {
            now[i] = count;
            t->names.data[count++] = t->names.data[i];
        }
    t->names.len = count;
    for (size_t i = 0; i < t->nodes.len; i++)
        t->nodes.data[i].name = now[t->nodes.data[i].name];
    free(now);
    return KYMO_OK;
}

kymo_err kymo_svg_tree_prune(struct kymo_svg_tree *t)
{
    uint64_t whole[2] = {0, 0};
    size_t n = t->nodes.len;
    struct pruning p = {.total = sum_up(t, whole),
                        .depth = find_depths(t),
                        .now = malloc((n + 1) * sizeof(int32_t))};
    struct kymo_svg_node *old = t->nodes.data;
    kymo_err err = p.total && p.depth && p.now ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK)
        err = add_name(t, SMALL_NAME, 0, 1, &p.small);
    if (err == KYMO_OK)
        err = add_name(t, DEEP_NAME, 0, 1, &p.deep);
    if (err == KYMO_OK) {
        choose(t, &p, larger(whole[0], whole[1]));
        t->nodes.data = NULL;
        t->nodes.len = t->nodes.cap = 0;
        kymo_index_deinit(&t->node_index);
        t->node_index = (kymo_index){0};
        err = keep(t, old, n, &p);
        free(old);
        if (err == KYMO_OK)
            err = drop_names(t);
    }
    free(p.total);
    free(p.depth);
    free(p.now);
    return err;
}
