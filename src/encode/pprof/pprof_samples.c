/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_samples.c - samples; those of the same thread, stack and set of labels are one.
 *
 * Samples are summed up set by set, in columns indexed by stack, without hashing. A thread that
 * handles one request after the other has as many sets as requests, each with few samples. So the
 * samples are sorted by set, and the cost of a set depends only on its own samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/search.h"
#include "base/str.h"
#include "encode/pprof/pprof.h"

void kymo_pprof_label(kymo_pprof *w, kymo_proto *labels, uint32_t key, uint32_t text,
                      int64_t number, uint32_t unit)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LABEL_KEY, key);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LABEL_STR, text);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LABEL_NUM, (uint64_t)number);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LABEL_UNIT, unit);
    kymo_proto_message(labels, KYMO_PPROF_SAMPLE_LABEL, &w->inner);
}

/* Labels that all samples of a thread share: encoded once, copied into each sample. */
void kymo_pprof_thread_labels(kymo_pprof *w, const kymo_thread *t, kymo_proto *labels)
{
    kymo_proto_clear(labels);
    kymo_pprof_label(w, labels, w->key_thread, kymo_pprof_cstr(w, t->name), 0, 0);
    kymo_pprof_label(w, labels, w->key_tid, 0, t->tid, 0);
    kymo_pprof_label(w, labels, w->key_pid, 0, w->p->processes.data[t->process].pid, 0);
    if (w->first)
        kymo_pprof_label(w, labels, w->key_base, w->text_base, 0, 0);
}

/* A pointer, or a number beyond 64 signed bits, becomes text; 0 for others. */
static uint32_t number_text(kymo_pprof *w, const kymo_value *value)
{
    char text[32];
    switch (value->kind) {
    case KYMO_VALUE_F64:
        if (isfinite(value->as.f64))
            *kymo_decimal_f64(text, value->as.f64) = '\0';
        else
            snprintf(text, sizeof text, "%g", value->as.f64);
        break;
    case KYMO_VALUE_POINTER:
        snprintf(text, sizeof text, "0x%" PRIx64, value->as.u64);
        break;
    case KYMO_VALUE_FLOW:
        snprintf(text, sizeof text, "%016" PRIx64, value->as.u64);
        break;
    default:
        if (value->as.u64 <= INT64_MAX || value->kind != KYMO_VALUE_U64)
            return 0;
        *kymo_decimal_u64(text, value->as.u64) = '\0';
    }
    return kymo_pprof_cstr(w, text);
}

/* Keys that Kymo sets, and keys that are special to readers, are not for the program. */
static uint32_t key_of(kymo_pprof *w, uint32_t string)
{
    static const char *const taken[] = {"", "thread", "tid", "pid", "wait", "bytes"};
    size_t count = KYMO_ARRAY_LEN(taken) - !w->view;
    const char *key = kymo_profile_string(w->p, string);
    int is_taken = kymo_str_starts(key, "pprof::");
    for (size_t i = 0; i < count; i++)
        is_taken |= strcmp(key, taken[i]) == 0;
    if (!is_taken)
        return kymo_pprof_string(w, string);
    kymo_str other = {0};
    kymo_str_printf(&other, "label:%s", key);
    w->out.failed |= other.failed;
    uint32_t number = kymo_pprof_cstr(w, kymo_str_cstr(&other));
    kymo_str_deinit(&other);
    return number;
}

static void add_set_label(kymo_pprof *w, const kymo_label *label, kymo_proto *labels)
{
    uint32_t key = key_of(w, label->key);
    const kymo_value *value = &label->value;
    if (value->kind == KYMO_VALUE_STRING) {
        kymo_pprof_label(w, labels, key, kymo_pprof_string(w, value->as.string), 0, 0);
        return;
    }
    uint32_t text = number_text(w, value);
    int64_t number = text ? 0 : value->as.i64;
    /* Readers ignore a label without text, number and unit. They guess the unit of a number
     * without one from its key: they would scale "request" as bytes, and "day" as a time. */
    kymo_pprof_label(w, labels, key, text, number, text ? 0 : w->unit_count);
}

/* Labels set by the program, encoded once for a whole set. */
void kymo_pprof_set_labels(kymo_pprof *w, uint32_t set, kymo_proto *labels)
{
    uint32_t count;
    const kymo_label *label = kymo_profile_label_set(w->p, set, &count);
    for (uint32_t i = 0; i < count; i++)
        add_set_label(w, &label[i], labels);
}

/* The label of a stack whose innermost frame is a wait. */
static void add_wait_label(kymo_pprof *w, uint32_t stack)
{
    const kymo_frame *f = &w->p->frames.data[w->p->stack_frame.data[stack]];
    if (f->category == KYMO_CATEGORY_WAITING && f->line_count > 0)
        kymo_pprof_label(
            w, &w->message, w->key_wait,
            kymo_pprof_string(w,
                              w->p->functions.data[w->p->lines.data[f->first_line].function].name),
            0, 0);
}

void kymo_pprof_put_stack(kymo_pprof *w, uint32_t stack)
{
    const uint32_t *frame = w->p->stack_frame.data;
    const uint32_t *parent = w->p->stack_parent.data;
    kymo_proto_clear(&w->inner);
    if (stack == KYMO_NONE)
        kymo_proto_varint(&w->inner, w->location_base + w->p->frames.len + 1);
    for (; stack != KYMO_NONE; stack = parent[stack])
        kymo_proto_varint(&w->inner, w->location_base + frame[stack] + 1);
    kymo_proto_packed(&w->message, KYMO_PPROF_SAMPLE_LOCATION, &w->inner);
}

kymo_err kymo_pprof_put_sample(kymo_pprof *w, const kymo_proto *labels)
{
    w->message.failed |= labels->failed;
    kymo_proto_varint(&w->out, KYMO_PPROF_PROFILE_SAMPLE << 3 | 2);
    kymo_proto_varint(&w->out, w->message.len + labels->len);
    kymo_proto_raw(&w->out, &w->message);
    kymo_proto_raw(&w->out, labels);
    return kymo_pprof_pass_on(w);
}

static kymo_err write_sample(kymo_pprof *w, uint32_t stack, const uint64_t *values,
                             const kymo_proto *labels)
{
    kymo_proto_clear(&w->message);
    kymo_pprof_put_stack(w, stack);
    kymo_proto_clear(&w->inner);
    for (uint32_t i = 0; i < w->column_count; i++)
        kymo_proto_varint(&w->inner, kymo_pprof_value(w, values[i]));
    kymo_proto_packed(&w->message, KYMO_PPROF_SAMPLE_VALUE, &w->inner);
    if (w->has_wall && stack != KYMO_NONE)
        add_wait_label(w, stack);
    return kymo_pprof_put_sample(w, labels);
}

/* Successive stacks usually share their callers, so in order of ids the compressor finds more
 * repetitions, which saves more time than sorting takes. */
static void sort_touched(kymo_pprof *w, size_t touched)
{
    size_t all = w->p->stack_frame.len + 1;
    if (touched < all / 16) {
        qsort(w->touched, touched, sizeof *w->touched, kymo_compare_u32);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < all; i++)
        if (w->is_touched[i])
            w->touched[n++] = (uint32_t)i;
}

static void add_sample(kymo_pprof *w, const kymo_sample_columns *s, size_t i, size_t *touched)
{
    /* the last entry of the columns is for "no stack" */
    uint32_t none = (uint32_t)w->p->stack_frame.len;
    uint32_t stack = s->stack[i] != KYMO_NONE ? s->stack[i] : none;
    uint64_t *values = &w->values[(size_t)stack * w->column_count];
    const struct kymo_pprof_columns *columns = &w->columns[s->kind[i]];
    if (columns->value == KYMO_PPROF_NO_COLUMN)
        return;
    if (!w->is_touched[stack])
        w->touched[(*touched)++] = stack;
    w->is_touched[stack] = 1;
    if (columns->count != KYMO_PPROF_NO_COLUMN)
        values[columns->count]++;
    values[columns->value] += s->weight_ns[i];
}

static kymo_err write_touched(kymo_pprof *w, size_t touched, const kymo_proto *labels)
{
    uint32_t none = (uint32_t)w->p->stack_frame.len;
    sort_touched(w, touched);
    for (size_t i = 0; i < touched; i++) {
        uint32_t stack = w->touched[i];
        uint64_t *values = &w->values[(size_t)stack * w->column_count];
        KYMO_TRY(write_sample(w, stack != none ? stack : KYMO_NONE, values, labels));
        memset(values, 0, w->column_count * sizeof *values);
        w->is_touched[stack] = 0;
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

static kymo_err write_thread(kymo_pprof *w, uint32_t thread, const kymo_proto *labels)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    size_t touched = 0;
    for (size_t i = 0; i < s->count; i++)
        add_sample(w, s, i, &touched);
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    return write_touched(w, touched, labels);
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

static kymo_err write_set(kymo_pprof *w, const kymo_sample_columns *s, const struct place *places,
                          size_t count, kymo_proto *labels)
{
    size_t touched = 0;
    size_t len = labels->len;
    for (size_t i = 0; i < count; i++)
        add_sample(w, s, places[i].sample, &touched);
    kymo_pprof_set_labels(w, places[0].set, labels);
    KYMO_TRY(write_touched(w, touched, labels));
    labels->len = len; /* keeps the labels of the thread */
    return kymo_encoder_step(w->encoder, count);
}

static kymo_err write_sets(kymo_pprof *w, uint32_t thread, const uint32_t *sets, kymo_proto *labels)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
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
        err = write_set(w, s, places + first, end - first, labels);
    }
    free(places);
    return err;
}

kymo_err kymo_pprof_samples(kymo_pprof *w)
{
    kymo_proto labels = {0};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < w->p->thread_order.len; i++) {
        uint32_t thread = w->p->thread_order.data[i];
        const uint32_t *sets = kymo_profile_sample_labels(w->p, thread);
        if (w->p->samples.data[thread].count == 0)
            continue;
        kymo_pprof_thread_labels(w, &w->p->threads.data[thread], &labels);
        err = sets ? write_sets(w, thread, sets, &labels) : write_thread(w, thread, &labels);
    }
    kymo_proto_deinit(&labels);
    return err;
}
