/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pstats.c - traced calls as the file that Python's pstats, snakeviz and gprof2dot read: a
 * dictionary in the format of Python's marshal module (version 0 to 4 read it).
 *
 *   (file, line, name): (primitive calls, calls, own seconds, seconds with callees, callers)
 *
 * callers is a dictionary of (calls, primitive calls, own seconds, seconds with callees) by caller.
 * A call is primitive if the function does not run already further out. Seconds with callees are of
 * primitive calls, so that recursion counts once. Native functions are called as cProfile does it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/id_map.h"
#include "base/vec.h"
#include "encode/encoder.h"

/* Of a function, or of the calls of one by another. */
struct figures {
    uint64_t calls, primitive;
    uint64_t own_ns, all_ns;
};

struct pstats {
    kymo_encoder *encoder;
    const kymo_profile *p;
    uint32_t nodes;
    uint32_t *function; /* by stack: its innermost function; KYMO_NONE: it has none */
    uint64_t *own_ns;   /* by stack */
    uint64_t *all_ns;   /* by stack: with what is called from there */
    uint64_t *calls;    /* by stack */
    struct figures *of; /* by function */
    kymo_id_map edges;  /* caller + 1 (0: none), function */
    KYMO_VEC(struct figures) edge;
    kymo_bytes out;
};

/* ---- sums ---- */

static uint32_t function_of(const kymo_profile *p, uint32_t stack)
{
    const kymo_frame *f = &p->frames.data[p->stack_frame.data[stack]];
    return f->line_count ? p->lines.data[f->first_line].function : KYMO_NONE;
}

static void add_samples(struct pstats *w)
{
    for (size_t t = 0; t < w->p->samples.len; t++) {
        const kymo_sample_columns *s = &w->p->samples.data[t];
        for (size_t i = 0; i < s->count; i++) {
            if (s->stack[i] == KYMO_NONE)
                continue;
            if (s->kind[i] == KYMO_SAMPLE_TRACE)
                w->own_ns[s->stack[i]] += s->weight_ns[i];
            else if (s->kind[i] == KYMO_SAMPLE_CALLS)
                w->calls[s->stack[i]] += s->weight_ns[i];
        }
    }
    /* A parent's number is less than its child's. */
    for (uint32_t i = w->nodes; i-- > 0;) {
        w->all_ns[i] += w->own_ns[i];
        if (w->p->stack_parent.data[i] != KYMO_NONE)
            w->all_ns[w->p->stack_parent.data[i]] += w->all_ns[i];
    }
}

/* Whether the function runs further out, and below a call by the same caller (caller KYMO_NONE:
 * below any call). */
static int is_recursive(const struct pstats *w, uint32_t stack, uint32_t caller)
{
    uint32_t function = w->function[stack];
    for (uint32_t at = w->p->stack_parent.data[stack]; at != KYMO_NONE;
         at = w->p->stack_parent.data[at]) {
        uint32_t parent = w->p->stack_parent.data[at];
        if (w->function[at] == function &&
            (caller == KYMO_NONE || (parent != KYMO_NONE && w->function[parent] == caller)))
            return 1;
    }
    return 0;
}

static void add(struct figures *to, const struct pstats *w, uint32_t stack, int is_recursive)
{
    to->calls += w->calls[stack];
    to->own_ns += w->own_ns[stack];
    if (is_recursive)
        return;
    to->primitive += w->calls[stack];
    to->all_ns += w->all_ns[stack];
}

static kymo_err add_stack(struct pstats *w, uint32_t stack)
{
    uint32_t parent = w->p->stack_parent.data[stack], edge;
    uint32_t caller = parent == KYMO_NONE ? KYMO_NONE : w->function[parent];
    if (w->function[stack] == KYMO_NONE || (w->all_ns[stack] == 0 && w->calls[stack] == 0))
        return KYMO_OK;
    add(&w->of[w->function[stack]], w, stack, is_recursive(w, stack, KYMO_NONE));
    if (caller == KYMO_NONE)
        return KYMO_OK;
    if (!kymo_id_map_find(&w->edges, w->function[stack], caller, &edge)) {
        KYMO_TRY(kymo_vec_push(&w->edge, (struct figures){0}));
        KYMO_TRY(kymo_id_map_add(&w->edges, w->function[stack], caller, &edge));
    }
    add(&w->edge.data[edge], w, stack, is_recursive(w, stack, caller));
    return KYMO_OK;
}

/* ---- marshal ---- */

static kymo_err put_byte(struct pstats *w, char byte)
{
    return kymo_bytes_append(&w->out, &byte, 1);
}

static kymo_err put_text(struct pstats *w, const char *text, size_t len)
{
    KYMO_TRY(put_byte(w, 'u'));
    KYMO_TRY(kymo_bytes_u32(&w->out, (uint32_t)len));
    return kymo_bytes_append(&w->out, text, len);
}

/* Above 31 bits: digits of 15 bits, the lowest first. */
static kymo_err put_number(struct pstats *w, uint64_t number)
{
    unsigned char digits[2 * 5];
    uint32_t n = 0;
    if (number <= INT32_MAX) {
        KYMO_TRY(put_byte(w, 'i'));
        return kymo_bytes_u32(&w->out, (uint32_t)number);
    }
    for (uint64_t rest = number; rest; rest >>= 15, n++) {
        digits[2 * n] = (unsigned char)(rest & 0xff);
        digits[2 * n + 1] = (unsigned char)(rest >> 8 & 0x7f);
    }
    KYMO_TRY(put_byte(w, 'l'));
    KYMO_TRY(kymo_bytes_u32(&w->out, n));
    return kymo_bytes_append(&w->out, digits, 2 * (size_t)n);
}

static kymo_err put_seconds(struct pstats *w, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    KYMO_TRY(put_byte(w, 'g'));
    return kymo_bytes_append(&w->out, &seconds, sizeof seconds);
}

static kymo_err put_tuple(struct pstats *w, uint32_t members)
{
    KYMO_TRY(put_byte(w, '('));
    return kymo_bytes_u32(&w->out, members);
}

static kymo_err put_function(struct pstats *w, uint32_t function)
{
    const kymo_function *f = &w->p->functions.data[function];
    const kymo_text *name = &w->p->strings.data[f->name];
    KYMO_TRY(put_tuple(w, 3));
    if (f->source == KYMO_NONE) {
        char native[KYMO_STRING_MAX + 24];
        int len =
            snprintf(native, sizeof native, "<built-in method %.*s>", (int)name->len, name->data);
        KYMO_TRY(put_text(w, "~", 1));
        KYMO_TRY(put_number(w, 0));
        return put_text(w, native, (size_t)len);
    }
    const kymo_text *file = &w->p->strings.data[w->p->sources.data[f->source]];
    KYMO_TRY(put_text(w, file->data, file->len));
    KYMO_TRY(put_number(w, f->start_line));
    return put_text(w, name->data, name->len);
}

/* Of a function, before its callers: the primitive calls are first; of a caller they are second. */
static kymo_err put_figures(struct pstats *w, const struct figures *f, int is_caller)
{
    KYMO_TRY(put_tuple(w, is_caller ? 4 : 5));
    KYMO_TRY(put_number(w, is_caller ? f->calls : f->primitive));
    KYMO_TRY(put_number(w, is_caller ? f->primitive : f->calls));
    KYMO_TRY(put_seconds(w, f->own_ns));
    return put_seconds(w, f->all_ns);
}

/* ---- the file ---- */

struct edge_order {
    uint32_t function, caller, edge;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge_order *x = a, *y = b;
    int order = (x->function > y->function) - (x->function < y->function);
    return order ? order : (x->caller > y->caller) - (x->caller < y->caller);
}

static kymo_err write_functions(struct pstats *w, const struct edge_order *edges)
{
    size_t at = 0;
    KYMO_TRY(put_byte(w, '{'));
    for (uint32_t i = 0; i < w->p->functions.len; i++) {
        const struct figures *f = &w->of[i];
        if (f->calls || f->all_ns || f->own_ns) {
            KYMO_TRY(put_function(w, i));
            KYMO_TRY(put_figures(w, f, 0));
            KYMO_TRY(put_byte(w, '{'));
            for (; at < w->edge.len && edges[at].function == i; at++) {
                KYMO_TRY(put_function(w, edges[at].caller));
                KYMO_TRY(put_figures(w, &w->edge.data[edges[at].edge], 1));
            }
            KYMO_TRY(put_byte(w, '0'));
        }
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    KYMO_TRY(put_byte(w, '0'));
    return kymo_sink_write(w->encoder->sink, w->out.data, w->out.len);
}

static kymo_err write_all(struct pstats *w)
{
    for (uint32_t i = 0; i < w->nodes; i++)
        w->function[i] = function_of(w->p, i);
    add_samples(w);
    for (uint32_t i = 0; i < w->nodes; i++) {
        KYMO_TRY(add_stack(w, i));
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    struct edge_order *edges = malloc((w->edge.len + 1) * sizeof *edges);
    if (!edges)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < w->edge.len; i++) {
        uint64_t key = w->edges.keys.data[i];
        edges[i] = (struct edge_order){(uint32_t)(key >> 32), (uint32_t)key, (uint32_t)i};
    }
    qsort(edges, w->edge.len, sizeof *edges, compare_edges);
    kymo_err err = write_functions(w, edges);
    free(edges);
    return err;
}

kymo_err kymo_pstats_write(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    size_t nodes = p->stack_frame.len;
    if (p->sample_type_count <= KYMO_SAMPLE_CALLS || !kymo_encoder_has_type(p, KYMO_SAMPLE_TRACE))
        return kymo_error_set(encoder->detail, KYMO_E_INVALID, 0,
                              "a .pstats file is of traced calls and their numbers, which kymo "
                              "record --trace=python records; a stream of kymo/calls.h has times "
                              "alone, for the other formats");
    struct pstats w = {.encoder = encoder,
                       .p = p,
                       .nodes = (uint32_t)nodes,
                       .function = malloc((nodes + 1) * sizeof *w.function),
                       .own_ns = calloc(nodes + 1, sizeof *w.own_ns),
                       .all_ns = calloc(nodes + 1, sizeof *w.all_ns),
                       .calls = calloc(nodes + 1, sizeof *w.calls),
                       .of = calloc(p->functions.len + 1, sizeof *w.of)};
    encoder->total = nodes + p->functions.len;
    kymo_bytes_init(&w.out, SIZE_MAX);
    kymo_err err =
        w.function && w.own_ns && w.all_ns && w.calls && w.of ? write_all(&w) : KYMO_E_NOMEM;
    free(w.function);
    free(w.own_ns);
    free(w.all_ns);
    free(w.calls);
    free(w.of);
    kymo_id_map_deinit(&w.edges);
    kymo_vec_deinit(&w.edge);
    kymo_bytes_deinit(&w.out);
    return err;
}
