/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_heap.c - allocations; those of the same thread, stack, labels and size class are one
 * sample.
 *
 * Types, their order and the default are those of Go's heap profiles, whose names servers
 * recognize. Values are estimates for all allocations, not only the sampled ones. The label "bytes"
 * is the mean size of the allocations. There are four size classes per power of two.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "encode/pprof/pprof.h"
#include "profile/estimate.h"

/* The key of a sample: its allocations are equal in all of this. */
struct key {
    uint32_t thread;
    uint32_t labels;
    uint32_t stack;
    uint32_t size_class;
    uint32_t row;
};

/* Sums before rounding of what was written, by value. */
struct sums {
    double value[4];
};

static uint32_t size_class(uint64_t bytes)
{
    if (bytes < 4)
        return (uint32_t)bytes;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes);
    return log << 2 | (uint32_t)(bytes >> (log - 2) & 3);
}

static int same_set(const struct key *a, const struct key *b)
{
    return a->thread == b->thread && a->labels == b->labels;
}

static int same_sample(const struct key *a, const struct key *b)
{
    return same_set(a, b) && a->stack == b->stack && a->size_class == b->size_class;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->labels != y->labels)
        return x->labels < y->labels ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->size_class != y->size_class)
        return x->size_class < y->size_class ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* ---- samples ---- */

/* The first of the four types that the file has. */
static size_t first_value(const kymo_pprof *w)
{
    const kymo_encode_options *asked = w->encoder->options;
    return asked && asked->flags & KYMO_ENCODE_INUSE_ALONE ? 2 : 0;
}

static kymo_err write_sample(kymo_pprof *w, const struct key *key, const kymo_heap_amount *amount,
                             uint64_t mean_bytes, struct sums *sums, const kymo_proto *labels)
{
    const double values[] = {amount->alloc_objects, amount->alloc_bytes, amount->live_objects,
                             amount->live_bytes};
    int64_t rounded[KYMO_ARRAY_LEN(values)];
    int64_t any = 0;
    for (size_t i = first_value(w); i < KYMO_ARRAY_LEN(values); i++) {
        rounded[i] = kymo_round_next(&sums->value[i], values[i]);
        any |= rounded[i];
    }
    if (any == 0)
        return KYMO_OK;
    kymo_proto_clear(&w->message);
    kymo_pprof_put_stack(w, key->stack);
    kymo_proto_clear(&w->inner);
    for (size_t i = first_value(w); i < KYMO_ARRAY_LEN(values); i++)
        kymo_proto_varint(&w->inner, kymo_pprof_value(w, (uint64_t)rounded[i]));
    kymo_proto_packed(&w->message, KYMO_PPROF_SAMPLE_VALUE, &w->inner);
    kymo_pprof_label(w, &w->message, w->key_bytes, 0, (int64_t)mean_bytes, w->key_bytes);
    return kymo_pprof_put_sample(w, labels);
}

/* count keys of one sample. */
static kymo_err add_sample(kymo_pprof *w, uint32_t process, const struct key *keys, size_t count,
                           struct sums *sums, const kymo_proto *labels)
{
    kymo_heap_amount amount = {0};
    double weight = 0;
    double bytes = 0;
    for (size_t i = 0; i < count; i++) {
        kymo_encoder_block block = kymo_encoder_heap_block(w->view, process, keys[i].row);
        kymo_encoder_heap_add(w->view, process, keys[i].row, &amount);
        weight += block.weight;
        bytes += block.weight * (double)block.bytes;
    }
    KYMO_TRY(kymo_encoder_step(w->encoder, count));
    uint64_t mean = (uint64_t)fmin(bytes / weight + 0.5, KYMO_ROUND_MAX);
    return write_sample(w, keys, &amount, mean, sums, labels);
}

static kymo_err add_samples(kymo_pprof *w, uint32_t process, const struct key *keys, size_t count,
                            struct sums *sums, kymo_proto *labels)
{
    size_t thread_len = 0;
    for (size_t first = 0, end; first < count; first = end) {
        const struct key *key = &keys[first];
        if (first == 0 || keys[first - 1].thread != key->thread) {
            kymo_pprof_thread_labels(w, &w->p->threads.data[key->thread], labels);
            thread_len = labels->len;
        }
        if (first == 0 || !same_set(key, &keys[first - 1])) {
            labels->len = thread_len;
            kymo_pprof_set_labels(w, key->labels, labels);
        }
        /* It may be in no sample. */
        if (labels->failed)
            return KYMO_E_NOMEM;
        end = first + 1;
        while (end < count && same_sample(key, &keys[end]))
            end++;
        KYMO_TRY(add_sample(w, process, key, end - first, sums, labels));
    }
    return KYMO_OK;
}

static kymo_err add_process(kymo_pprof *w, uint32_t process, struct sums *sums, kymo_proto *labels)
{
    const struct kymo_heap_table *t = &w->view->selection.tables[process];
    struct key *keys = malloc((t->count + 1) * sizeof *keys);
    if (!keys)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < t->count; i++) {
        kymo_encoder_block block = kymo_encoder_heap_block(w->view, process, i);
        keys[i] = (struct key){block.thread, block.labels, block.stack, size_class(block.bytes),
                               (uint32_t)i};
    }
    qsort(keys, t->count, sizeof *keys, compare_keys);
    kymo_err err = add_samples(w, process, keys, t->count, sums, labels);
    free(keys);
    return err;
}

kymo_err kymo_pprof_heap_samples(kymo_pprof *w)
{
    struct sums sums = {{0}};
    kymo_proto labels = {0};
    kymo_err err = KYMO_OK;
    for (uint32_t i = 0; err == KYMO_OK && i < w->view->selection.n_tables; i++)
        err = add_process(w, i, &sums, &labels);
    kymo_proto_deinit(&labels);
    return err;
}

/* ---- head ---- */

void kymo_pprof_heap_head(kymo_pprof *w)
{
    static const char *const types[][4] = {
        {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"map_objects", "map_space", "mapped_objects", "mapped_space"}};
    const char *const *names = types[w->view->show == KYMO_ENCODE_MAPPED];
    uint64_t rate = 0;
    for (size_t i = first_value(w); i < KYMO_ARRAY_LEN(types[0]); i++)
        kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_SAMPLE_TYPE, names[i],
                              i % 2 ? "bytes" : "count");
    kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_PERIOD_TYPE, "space", "bytes");
    for (uint32_t i = 0; i < w->p->processes.len; i++) {
        const kymo_heap *heap = kymo_profile_heap(w->p, i);
        if (heap && (rate == 0 || w->p->processes.data[i].is_main))
            rate = heap->rate;
    }
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_PERIOD, rate ? rate : 1);
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_DEFAULT_SAMPLE_TYPE,
                   kymo_pprof_cstr(w, names[w->view->show == KYMO_ENCODE_ALLOC ? 1 : 3]));
    w->key_bytes = kymo_pprof_cstr(w, "bytes");
}

static const char *meaning_of_inuse(uint32_t show)
{
    static const char *const meanings[KYMO_ENCODE_COUNT] = {
        [KYMO_ENCODE_PEAK] = "when most bytes lived",
        [KYMO_ENCODE_LEAKS] = "old blocks that live at the end",
        [KYMO_ENCODE_GROWTH] = "blocks that live, less those that lived before",
    };
    return meanings[show] ? meanings[show] : "blocks that live";
}

static void comment_heap(kymo_pprof *w, const kymo_heap *heap, const kymo_process *p)
{
    const char *not_seen = kymo_profile_string(w->p, heap->not_seen);
    if (heap->count)
        kymo_pprof_comment(
            w, "%.200s (%" PRIi32 "): %" PRIu64 " allocations of %" PRIu64 " bytes in all", p->name,
            p->pid, heap->count, heap->bytes);
    if (heap->lost || heap->lost_frees)
        kymo_pprof_comment(w,
                           "%.200s (%" PRIi32 "): lost %" PRIu64 " allocations, %" PRIu64 " frees",
                           p->name, p->pid, heap->lost, heap->lost_frees);
    if (heap->is_partial)
        kymo_pprof_comment(w, "%.200s (%" PRIi32 "): partial, what lives is not to be trusted",
                           p->name, p->pid);
    if (*not_seen)
        kymo_pprof_comment(w, "%.100s (%" PRIi32 "): not seen: %.300s", p->name, p->pid, not_seen);
}

/* Comments: what "inuse" means, and how reliable it is. */
void kymo_pprof_heap_comments(kymo_pprof *w)
{
    const struct kymo_heap_selection *s = &w->view->selection;
    struct kymo_estimate_range bytes;
    if (w->view->show == KYMO_ENCODE_MAPPED) {
        kymo_pprof_comment(w, "large mappings of the program's own, which need not be resident");
        return;
    }
    kymo_pprof_comment(w, "inuse: %s", meaning_of_inuse(w->view->show));
    if (w->view->show == KYMO_ENCODE_PEAK)
        kymo_pprof_comment(w, "peak: %.6f s after the start",
                           (double)kymo_since_origin(w->p, s->options.at_ns) / 1e9);
    if (s->options.view == KYMO_HEAP_LIVE && s->options.at_ns != KYMO_HEAP_END)
        kymo_pprof_comment(w, "at: %.6f s after the start",
                           (double)kymo_since_origin(w->p, s->options.at_ns) / 1e9);
    if (w->view->has_before)
        kymo_pprof_comment(w, "inuse_space before: %.0f bytes", w->view->before.sum.bytes);
    kymo_estimate_bytes(&s->sum, &s->all, &bytes);
    kymo_pprof_comment(w, "inuse_space%s: %.0f bytes, 95 %%: %.0f to %.0f",
                       w->view->has_before ? " after" : "", s->sum.bytes, bytes.low, bytes.high);
    for (uint32_t i = 0; i < s->n_tables; i++) {
        const kymo_heap *heap = kymo_profile_heap(w->p, i);
        if (heap)
            comment_heap(w, heap, &w->p->processes.data[i]);
    }
}
