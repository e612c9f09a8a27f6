/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/heap_sums.h"

#include <math.h>
#include <stdlib.h>

/* The key of a sample: its allocations are equal in all of this. */
struct key {
    uint32_t thread;
    uint32_t labels;
    uint32_t stack;
    uint32_t size_class;
    uint32_t row;
};

struct heap_sums {
    const kymo_encoder_heap *view;
    kymo_encoder *encoder;
    const struct kymo_heap_writer *writer;
    void *context;
    uint32_t first_value;
    double before_rounding[KYMO_HEAP_VALUES]; /* sums of what was written */
};

uint32_t kymo_heap_first_value(const kymo_encoder *encoder)
{
    const kymo_encode_options *asked = encoder->options;
    return asked && asked->flags & KYMO_ENCODE_INUSE_ALONE ? 2 : 0;
}

const char *kymo_heap_value_name(const kymo_encoder_heap *view, uint32_t value)
{
    static const char *const names[][KYMO_HEAP_VALUES] = {
        {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"map_objects", "map_space", "mapped_objects", "mapped_space"}};
    return names[view->show == KYMO_ENCODE_MAPPED][value];
}

const char *kymo_heap_value_unit(uint32_t value)
{
    return value % 2 ? "bytes" : "count";
}

uint64_t kymo_heap_period(const kymo_profile *p)
{
    uint64_t rate = 0;
    for (uint32_t i = 0; i < p->processes.len; i++) {
        const kymo_heap *heap = kymo_profile_heap(p, i);
        if (heap && (rate == 0 || p->processes.data[i].is_main))
            rate = heap->rate;
    }
    return rate ? rate : 1;
}

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

static kymo_err write_sample(struct heap_sums *s, uint32_t stack, const kymo_heap_amount *amount,
                             uint64_t mean_bytes)
{
    const double values[KYMO_HEAP_VALUES] = {amount->alloc_objects, amount->alloc_bytes,
                                             amount->live_objects, amount->live_bytes};
    int64_t rounded[KYMO_HEAP_VALUES];
    int64_t any = 0;
    for (size_t i = s->first_value; i < KYMO_HEAP_VALUES; i++) {
        rounded[i] = kymo_round_next(&s->before_rounding[i], values[i]);
        any |= rounded[i];
    }
    return any ? s->writer->sample(s->context, stack, rounded, mean_bytes) : KYMO_OK;
}

/* count keys of one sample. */
static kymo_err add_sample(struct heap_sums *s, uint32_t process, const struct key *keys,
                           size_t count)
{
    kymo_heap_amount amount = {0};
    double weight = 0;
    double bytes = 0;
    for (size_t i = 0; i < count; i++) {
        kymo_encoder_block block = kymo_encoder_heap_block(s->view, process, keys[i].row);
        kymo_encoder_heap_add(s->view, process, keys[i].row, &amount);
        weight += block.weight;
        bytes += block.weight * (double)block.bytes;
    }
    KYMO_TRY(kymo_encoder_step(s->encoder, count));
    uint64_t mean = (uint64_t)fmin(bytes / weight + 0.5, KYMO_ROUND_MAX);
    return write_sample(s, keys->stack, &amount, mean);
}

static kymo_err add_samples(struct heap_sums *s, uint32_t process, const struct key *keys,
                            size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        const struct key *key = &keys[first];
        if (first == 0 || keys[first - 1].thread != key->thread)
            KYMO_TRY(
                s->writer->thread(s->context, &s->encoder->profile->threads.data[key->thread]));
        if (first == 0 || !same_set(key, &keys[first - 1]))
            KYMO_TRY(s->writer->labels(s->context, key->labels));
        end = first + 1;
        while (end < count && same_sample(key, &keys[end]))
            end++;
        KYMO_TRY(add_sample(s, process, key, end - first));
    }
    return KYMO_OK;
}

static kymo_err add_process(struct heap_sums *s, uint32_t process)
{
    const struct kymo_heap_table *t = &s->view->selection.tables[process];
    struct key *keys = malloc((t->count + 1) * sizeof *keys);
    if (!keys)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < t->count; i++) {
        kymo_encoder_block block = kymo_encoder_heap_block(s->view, process, i);
        keys[i] = (struct key){block.thread, block.labels, block.stack, size_class(block.bytes),
                               (uint32_t)i};
    }
    qsort(keys, t->count, sizeof *keys, compare_keys);
    kymo_err err = add_samples(s, process, keys, t->count);
    free(keys);
    return err;
}

kymo_err kymo_heap_sums_write(const kymo_encoder_heap *view, kymo_encoder *encoder,
                              const struct kymo_heap_writer *writer, void *context)
{
    struct heap_sums s = {.view = view,
                          .encoder = encoder,
                          .writer = writer,
                          .context = context,
                          .first_value = kymo_heap_first_value(encoder)};
    for (uint32_t i = 0; i < view->selection.n_tables; i++)
        KYMO_TRY(add_process(&s, i));
    return KYMO_OK;
}
