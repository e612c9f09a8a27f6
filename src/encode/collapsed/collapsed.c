/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed.c - one line for each distinct stack: "process;thread;outermost;...;innermost WEIGHT".
 *
 * The weight is CPU time (or another sample type, on request) in nanoseconds: the sum over all
 * lines is exactly the CPU time, which a count of samples is not. For the heap it is bytes. Lines
 * are distinct in their text. The stacks of a profile differ by address, so they are first merged
 * into a tree of names, with separate nodes for inlined functions. Then each thread's samples are
 * summed up by node. Threads of the same name in processes of the same name share lines, as in
 * other tools that write this format.
 */
#include "encode/collapsed/collapsed.h"
#include "base/str.h"
#include "encode/collapsed/collapsed_heap.h"
#include "encode/encoder.h"
#include "encode/encoder_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

struct collapsed {
    kymo_encoder *encoder;
    const kymo_profile *p;
    KYMO_VEC(uint32_t) node_name;   /* string of the profile, or string count + number of a label */
    KYMO_VEC(uint32_t) node_parent; /* KYMO_NONE: outermost */
    kymo_index node_index;
    uint32_t *stack_node;       /* by stack */
    uint32_t *frame_label;      /* by frame without names: number of its label */
    KYMO_VEC(kymo_text) labels; /* "module+0xaddress" */
    kymo_index label_index;
    kymo_arena arena;
    uint32_t *touched;
    uint64_t *weight; /* by node; the last entry is "no stack" */
    uint8_t *is_touched;
    int is_heap; /* the weights are bytes of allocations */
    kymo_collapsed_blocks blocks;
    uint32_t *order; /* threads; those that share lines are adjacent */
    KYMO_VEC(uint32_t) path;
    kymo_bytes out;
};

/* ---- the tree of names ---- */

static kymo_err add_node(struct collapsed *w, uint32_t parent, uint32_t name, uint32_t *node)
{
    uint64_t key = (uint64_t)parent << 32 | name;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&w->node_index, hash, &probe, node);)
        if (w->node_parent.data[*node] == parent && w->node_name.data[*node] == name)
            return KYMO_OK;
    if (w->node_name.len >= KYMO_NONE - 1)
        return KYMO_E_TOO_BIG;
    *node = (uint32_t)w->node_name.len;
    KYMO_TRY(kymo_vec_push(&w->node_name, name));
    KYMO_TRY(kymo_vec_push(&w->node_parent, parent));
    return kymo_index_put(&w->node_index, hash, *node);
}

/* Frames of two processes may be at the same place in the same file. */
static kymo_err add_label(struct collapsed *w, const char *text, size_t len, uint32_t *label)
{
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&w->label_index, hash, &probe, label);)
        if (w->labels.data[*label].len == len &&
            memcmp(w->labels.data[*label].data, text, len) == 0)
            return KYMO_OK;
    const char *copy = kymo_arena_strndup(&w->arena, text, len);
    if (!copy)
        return KYMO_E_NOMEM;
    *label = (uint32_t)w->labels.len;
    KYMO_TRY(kymo_vec_push(&w->labels, (kymo_text){copy, (uint32_t)len}));
    return kymo_index_put(&w->label_index, hash, *label);
}

static kymo_err label_of(struct collapsed *w, uint32_t frame, uint32_t *name)
{
    if (w->frame_label[frame] == KYMO_NONE) {
        char text[KYMO_STRING_MAX + 32];
        uint32_t label;
        kymo_profile_frame_label(w->p, frame, text, sizeof text);
        KYMO_TRY(add_label(w, text, strlen(text), &label));
        w->frame_label[frame] = label;
    }
    *name = (uint32_t)w->p->strings.len + w->frame_label[frame];
    return KYMO_OK;
}

static kymo_err add_frame_nodes(struct collapsed *w, uint32_t frame, uint32_t *node)
{
    const kymo_frame *f = &w->p->frames.data[frame];
    uint32_t name;
    if (f->line_count == 0) {
        KYMO_TRY(label_of(w, frame, &name));
        return add_node(w, *node, name, node);
    }
    for (uint32_t i = f->line_count; i-- > 0;) {
        const kymo_line *line = &w->p->lines.data[f->first_line + i];
        KYMO_TRY(add_node(w, *node, w->p->functions.data[line->function].name, node));
    }
    return KYMO_OK;
}

static kymo_err make_tree(struct collapsed *w)
{
    for (uint32_t i = 0; i < w->p->stack_frame.len; i++) {
        uint32_t parent = w->p->stack_parent.data[i];
        uint32_t node = parent != KYMO_NONE ? w->stack_node[parent] : KYMO_NONE;
        KYMO_TRY(add_frame_nodes(w, w->p->stack_frame.data[i], &node));
        w->stack_node[i] = node;
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

/* ---- lines ---- */

/* ';' separates the names and a newline ends the line; both occur in names ("[u8; 4]"). */
kymo_err kymo_collapsed_put_name(kymo_bytes *out, const char *text, size_t len)
{
    size_t at = out->len;
    if (len == 0)
        return kymo_bytes_append(out, "?", 1);
    KYMO_TRY(kymo_bytes_append(out, text, len));
    for (size_t i = at; i < out->len; i++) {
        if (out->data[i] == ';')
            out->data[i] = ':';
        else if (out->data[i] < 0x20)
            out->data[i] = ' ';
    }
    return KYMO_OK;
}

static kymo_err put_node(struct collapsed *w, uint32_t name)
{
    size_t strings = w->p->strings.len;
    const kymo_text *t =
        name < strings ? &w->p->strings.data[name] : &w->labels.data[name - strings];
    KYMO_TRY(kymo_bytes_append(&w->out, ";", 1));
    return kymo_collapsed_put_name(&w->out, t->data, t->len);
}

static kymo_err pass_on(struct collapsed *w, size_t at_least)
{
    if (w->out.len < at_least || w->out.len == 0)
        return KYMO_OK;
    KYMO_TRY(kymo_sink_write(w->encoder->sink, w->out.data, w->out.len));
    kymo_bytes_clear(&w->out);
    return KYMO_OK;
}

static kymo_err write_line(struct collapsed *w, const kymo_thread *t, uint32_t node,
                           uint64_t weight)
{
    const char *process = w->p->processes.data[t->process].name;
    char number[KYMO_DECIMAL_MAX + 2] = " ";
    KYMO_TRY(kymo_collapsed_put_name(&w->out, process, strlen(process)));
    KYMO_TRY(kymo_bytes_append(&w->out, ";", 1));
    KYMO_TRY(kymo_collapsed_put_name(&w->out, t->name, strlen(t->name)));
    w->path.len = 0;
    if (node == w->node_name.len) {
        KYMO_TRY(
            kymo_bytes_append(&w->out, ";" KYMO_NO_STACK_NAME, 1 + strlen(KYMO_NO_STACK_NAME)));
    } else {
        for (; node != KYMO_NONE; node = w->node_parent.data[node])
            KYMO_TRY(kymo_vec_push(&w->path, node));
        for (size_t i = w->path.len; i-- > 0;)
            KYMO_TRY(put_node(w, w->node_name.data[w->path.data[i]]));
    }
    char *end = kymo_decimal_u64(number + 1, weight);
    *end++ = '\n';
    KYMO_TRY(kymo_bytes_append(&w->out, number, (size_t)(end - number)));
    return pass_on(w, 1 << 16);
}

/* ---- threads ---- */

static int compare_names(const kymo_profile *p, uint32_t a, uint32_t b)
{
    const kymo_thread *x = &p->threads.data[a];
    const kymo_thread *y = &p->threads.data[b];
    int order = strcmp(p->processes.data[x->process].name, p->processes.data[y->process].name);
    return order ? order : strcmp(x->name, y->name);
}

static int compare_threads(const void *a, const void *b, void *profile)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = compare_names(profile, x, y);
    return order ? order : (x > y) - (x < y);
}

static void add_weight(struct collapsed *w, uint32_t stack, uint64_t weight, size_t *touched)
{
    uint32_t node = stack != KYMO_NONE ? w->stack_node[stack] : (uint32_t)w->node_name.len;
    if (!w->is_touched[node]) {
        w->is_touched[node] = 1;
        w->touched[(*touched)++] = node;
    }
    w->weight[node] += weight;
}

static size_t sum_blocks(struct collapsed *w, uint32_t thread, size_t touched)
{
    for (size_t i = kymo_collapsed_first_block(&w->blocks, thread);
         i < w->blocks.len && w->blocks.data[i].thread == thread; i++)
        add_weight(w, w->blocks.data[i].stack, w->blocks.data[i].bytes, &touched);
    return touched;
}

static size_t sum_thread(struct collapsed *w, uint32_t thread, size_t touched)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    uint32_t kind = kymo_encoder_type(w->encoder);
    for (size_t i = 0; i < s->count; i++) {
        if (s->kind[i] == kind)
            add_weight(w, s->stack[i], s->weight_ns[i], &touched);
    }
    return touched;
}

/* Lines of weight 0 are useless; a reader may reject them. */
static kymo_err write_lines(struct collapsed *w, uint32_t thread, size_t touched)
{
    for (size_t i = 0; i < touched; i++) {
        uint32_t node = w->touched[i];
        if (w->weight[node] > 0)
            KYMO_TRY(write_line(w, &w->p->threads.data[thread], node, w->weight[node]));
        w->weight[node] = 0;
        w->is_touched[node] = 0;
    }
    return KYMO_OK;
}

static kymo_err write_threads(struct collapsed *w)
{
    size_t count = w->p->threads.len;
    size_t touched = 0;
    if (count == 0)
        return KYMO_OK;
    memcpy(w->order, w->p->thread_order.data, count * sizeof *w->order);
    qsort_r(w->order, count, sizeof *w->order, compare_threads, (void *)w->p);
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = w->order[i];
        touched = w->is_heap ? sum_blocks(w, thread, touched) : sum_thread(w, thread, touched);
        KYMO_TRY(kymo_encoder_step(w->encoder, w->p->samples.data[thread].count));
        if (i + 1 == count || compare_names(w->p, thread, w->order[i + 1]) != 0) {
            KYMO_TRY(write_lines(w, thread, touched));
            touched = 0;
        }
    }
    return pass_on(w, 0);
}

static kymo_err write_all(struct collapsed *w)
{
    KYMO_TRY(make_tree(w));
    if (w->is_heap)
        KYMO_TRY(kymo_collapsed_find_blocks(w->encoder, &w->blocks));
    size_t nodes = w->node_name.len + 1;
    w->touched = malloc(nodes * sizeof *w->touched);
    w->weight = calloc(nodes, sizeof *w->weight);
    w->is_touched = calloc(nodes, 1);
    if (!w->touched || !w->weight || !w->is_touched)
        return KYMO_E_NOMEM;
    return write_threads(w);
}

static kymo_err write_one(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    struct collapsed w = {.encoder = encoder,
                          .p = p,
                          .is_heap = kymo_heap_shown(encoder) != KYMO_ENCODE_TIME,
                          .stack_node = malloc((p->stack_frame.len + 1) * sizeof(uint32_t)),
                          .frame_label = malloc((p->frames.len + 1) * sizeof(uint32_t)),
                          .order = malloc((p->threads.len + 1) * sizeof(uint32_t))};
    kymo_err err = KYMO_E_NOMEM;
    kymo_bytes_init(&w.out, SIZE_MAX);
    encoder->total = p->stack_frame.len + p->sample_count;
    if (w.stack_node && w.frame_label && w.order) {
        memset(w.frame_label, 0xff, p->frames.len * sizeof(uint32_t));
        err = write_all(&w);
    }
    free(w.stack_node);
    free(w.frame_label);
    free(w.order);
    free(w.touched);
    free(w.weight);
    free(w.is_touched);
    kymo_vec_deinit(&w.node_name);
    kymo_vec_deinit(&w.node_parent);
    kymo_vec_deinit(&w.labels);
    kymo_vec_deinit(&w.path);
    kymo_vec_deinit(&w.blocks);
    kymo_index_deinit(&w.node_index);
    kymo_index_deinit(&w.label_index);
    kymo_arena_deinit(&w.arena);
    kymo_bytes_deinit(&w.out);
    return err;
}

kymo_err kymo_collapsed_write(kymo_encoder *encoder)
{
    int is_diff = encoder->options && encoder->options->before;
    return is_diff ? kymo_collapsed_write_diff(encoder) : write_one(encoder);
}
