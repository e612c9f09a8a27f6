/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_samples.c - samples; those of the same thread, stack and set of labels are one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
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
kymo_err kymo_pprof_thread(void *pprof, const kymo_thread *t)
{
    kymo_pprof *w = pprof;
    kymo_proto *labels = &w->labels;
    kymo_proto_clear(labels);
    kymo_pprof_label(w, labels, w->key_thread, kymo_pprof_cstr(w, t->name), 0, 0);
    kymo_pprof_label(w, labels, w->key_tid, 0, t->tid, 0);
    kymo_pprof_label(w, labels, w->key_pid, 0, w->p->processes.data[t->process].pid, 0);
    if (w->first)
        kymo_pprof_label(w, labels, w->key_base, w->text_base, 0, 0);
    w->thread_labels_len = labels->len;
    /* They may be in no sample. */
    return labels->failed ? KYMO_E_NOMEM : KYMO_OK;
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

static void add_set_label(kymo_pprof *w, const kymo_label *label)
{
    kymo_proto *labels = &w->labels;
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
kymo_err kymo_pprof_labels(void *pprof, uint32_t set)
{
    kymo_pprof *w = pprof;
    uint32_t count;
    const kymo_label *label = kymo_profile_label_set(w->p, set, &count);
    w->labels.len = w->thread_labels_len;
    for (uint32_t i = 0; i < count; i++)
        add_set_label(w, &label[i]);
    return w->labels.failed ? KYMO_E_NOMEM : KYMO_OK;
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

kymo_err kymo_pprof_put_sample(kymo_pprof *w)
{
    kymo_proto_varint(&w->out, KYMO_PPROF_PROFILE_SAMPLE << 3 | 2);
    kymo_proto_varint(&w->out, w->message.len + w->labels.len);
    kymo_proto_raw(&w->out, &w->message);
    kymo_proto_raw(&w->out, &w->labels);
    return kymo_pprof_pass_on(w);
}

static kymo_err write_sample(void *pprof, uint32_t stack, const uint64_t *values)
{
    kymo_pprof *w = pprof;
    kymo_proto_clear(&w->message);
    kymo_pprof_put_stack(w, stack);
    kymo_proto_clear(&w->inner);
    for (uint32_t i = 0; i < w->sums.column_count; i++)
        kymo_proto_varint(&w->inner, kymo_pprof_value(w, values[i]));
    kymo_proto_packed(&w->message, KYMO_PPROF_SAMPLE_VALUE, &w->inner);
    if (w->has_wall && stack != KYMO_NONE)
        add_wait_label(w, stack);
    return kymo_pprof_put_sample(w);
}

kymo_err kymo_pprof_samples(kymo_pprof *w)
{
    static const struct kymo_sums_writer writer = {kymo_pprof_thread, kymo_pprof_labels,
                                                   write_sample};
    return kymo_sample_sums_write(&w->sums, w->encoder, &writer, w);
}
