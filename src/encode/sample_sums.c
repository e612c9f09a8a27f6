/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/sample_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/* ---- columns ---- */

/* Whether there are samples of a type, also in what is taken off. */
static int has_type(const kymo_profile *p, const kymo_profile *before, uint32_t type)
{
    uint32_t other = before ? kymo_encoder_type_like(before, &p->sample_types[type]) : KYMO_NONE;
    return kymo_encoder_has_type(p, type) ||
           (other != KYMO_NONE && kymo_encoder_has_type(before, other));
}

int kymo_sample_sums_is_alone(const kymo_encoder *encoder)
{
    const kymo_encode_options *o = encoder->options;
    return o && (o->flags & KYMO_ENCODE_KIND_ALONE);
}

void kymo_sample_sums_choose(kymo_sample_sums *sums, const kymo_encoder *encoder,
                             const kymo_profile *before)
{
    const int is_alone = kymo_sample_sums_is_alone(encoder);
    const kymo_profile *p = encoder->profile;
    for (uint32_t i = 0; i < p->sample_type_count; i++) {
        const kymo_sample_type *t = &p->sample_types[i];
        sums->columns[i].value = KYMO_NO_COLUMN;
        if (is_alone && i != kymo_encoder_type(encoder))
            continue;
        if (!is_alone && t->is_optional && i != p->default_sample_type && !has_type(p, before, i))
            continue;
        sums->columns[i].count = t->count_name ? sums->column_count++ : KYMO_NO_COLUMN;
        sums->columns[i].value = sums->column_count++;
    }
}

uint64_t kymo_sample_period(const kymo_profile *p, const kymo_sample_type *type)
{
    if (type->period || type->adds == KYMO_ADDS_AMOUNT)
        return type->period;
    return type->adds == KYMO_ADDS_CPU_TIME ? p->meta.period_ns : p->meta.wall_period_ns;
}

/* ---- sums ---- */

/* Successive stacks usually share their callers, so in order of ids the compressor finds more
 * repetitions, which saves more time than sorting takes. */
static void sort_touched(kymo_sample_sums *s, size_t touched)
{
    size_t all = s->p->stack_frame.len + 1;
    if (touched < all / 16) {
        qsort(s->touched, touched, sizeof *s->touched, kymo_compare_u32);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < all; i++)
        if (s->is_touched[i])
            s->touched[n++] = (uint32_t)i;
}

static void add_sample(kymo_sample_sums *sums, const kymo_sample_columns *s, size_t i,
                       size_t *touched)
{
    /* the last entry of the columns is for "no stack" */
    uint32_t none = (uint32_t)sums->p->stack_frame.len;
    uint32_t stack = s->stack[i] != KYMO_NONE ? s->stack[i] : none;
    uint64_t *values = &sums->values[(size_t)stack * sums->column_count];
    const struct kymo_sums_columns *columns = &sums->columns[s->kind[i]];
    if (columns->value == KYMO_NO_COLUMN)
        return;
    if (!sums->is_touched[stack])
        sums->touched[(*touched)++] = stack;
    sums->is_touched[stack] = 1;
    if (columns->count != KYMO_NO_COLUMN)
        values[columns->count]++;
    values[columns->value] += s->weight_ns[i];
}

static kymo_err write_touched(kymo_sample_sums *s, size_t touched)
{
    uint32_t none = (uint32_t)s->p->stack_frame.len;
    sort_touched(s, touched);
    for (size_t i = 0; i < touched; i++) {
        uint32_t stack = s->touched[i];
        uint64_t *values = &s->values[(size_t)stack * s->column_count];
        KYMO_TRY(s->writer->sample(s->context, stack != none ? stack : KYMO_NONE, values));
        memset(values, 0, s->column_count * sizeof *values);
        s->is_touched[stack] = 0;
        KYMO_TRY(kymo_encoder_step(s->encoder, 1));
    }
    return KYMO_OK;
}

static kymo_err write_thread(kymo_sample_sums *sums, uint32_t thread)
{
    const kymo_sample_columns *s = &sums->p->samples.data[thread];
    size_t touched = 0;
    for (size_t i = 0; i < s->count; i++)
        add_sample(sums, s, i, &touched);
    KYMO_TRY(kymo_encoder_step(sums->encoder, s->count));
    return write_touched(sums, touched);
}

/* ---- threads with labels of the program ---- */

struct place {
    uint32_t set;
    size_t sample;
};

/* Samples without labels come last. */
static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static kymo_err write_set(kymo_sample_sums *sums, const kymo_sample_columns *s,
                          const struct place *places, size_t count)
{
    size_t touched = 0;
    for (size_t i = 0; i < count; i++)
        add_sample(sums, s, places[i].sample, &touched);
    KYMO_TRY(sums->writer->labels(sums->context, places[0].set));
    KYMO_TRY(write_touched(sums, touched));
    return kymo_encoder_step(sums->encoder, count);
}

static kymo_err write_sets(kymo_sample_sums *sums, uint32_t thread, const uint32_t *sets)
{
    const kymo_sample_columns *s = &sums->p->samples.data[thread];
    struct place *places = malloc(s->count * sizeof *places);
    kymo_err err = KYMO_OK;
    if (!places)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < s->count; i++)
        places[i] = (struct place){sets[i], i};
    qsort(places, s->count, sizeof *places, compare_places);
    for (size_t first = 0, end; err == KYMO_OK && first < s->count; first = end) {
        end = first + 1;
        while (end < s->count && places[end].set == places[first].set)
            end++;
        err = write_set(sums, s, places + first, end - first);
    }
    free(places);
    return err;
}

static kymo_err write_all(kymo_sample_sums *sums)
{
    for (size_t i = 0; i < sums->p->thread_order.len; i++) {
        uint32_t thread = sums->p->thread_order.data[i];
        const uint32_t *sets = kymo_profile_sample_labels(sums->p, thread);
        if (sums->p->samples.data[thread].count == 0)
            continue;
        KYMO_TRY(sums->writer->thread(sums->context, &sums->p->threads.data[thread]));
        KYMO_TRY(sets ? write_sets(sums, thread, sets) : write_thread(sums, thread));
    }
    return KYMO_OK;
}

kymo_err kymo_sample_sums_write(kymo_sample_sums *sums, kymo_encoder *encoder,
                                const struct kymo_sums_writer *writer, void *context)
{
    const size_t stacks = encoder->profile->stack_frame.len + 1;
    sums->encoder = encoder;
    sums->p = encoder->profile;
    sums->writer = writer;
    sums->context = context;
    sums->touched = malloc(stacks * sizeof(uint32_t));
    sums->is_touched = calloc(stacks, 1);
    sums->values = calloc(stacks * (sums->column_count + 1), sizeof *sums->values);
    kymo_err err =
        sums->touched && sums->is_touched && sums->values ? write_all(sums) : KYMO_E_NOMEM;
    free(sums->touched);
    free(sums->is_touched);
    free(sums->values);
    return err;
}
