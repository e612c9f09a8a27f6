/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_samples.c - samples; those of the same stack, thread and labels are one, with one value.
 *
 * The format has room for a time and a value of each observation. They are left out: readers differ
 * in what they make of a sample with several values, some take the first one alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/str.h"
#include "encode/heap_sums.h"
#include "encode/otlp/otlp.h"

/* ---- attributes ---- */

static kymo_err add_attribute(kymo_otlp *w, uint32_t row)
{
    return kymo_vec_push(&w->attributes, row);
}

static kymo_err take_thread(void *otlp, const kymo_thread *t)
{
    kymo_otlp *w = otlp;
    struct kymo_otlp_dictionary *d = &w->dictionary;
    const int32_t pid = w->p->processes.data[t->process].pid;
    w->attributes.len = 0;
    KYMO_TRY(
        add_attribute(w, kymo_otlp_text_attribute(d, "thread.name", t->name, strlen(t->name))));
    KYMO_TRY(add_attribute(w, kymo_otlp_number_attribute(d, "thread.id", t->tid, NULL)));
    KYMO_TRY(add_attribute(w, kymo_otlp_number_attribute(d, "process.pid", pid, NULL)));
    w->thread_attributes = w->attributes.len;
    return KYMO_OK;
}

/* A pointer, or a number beyond 64 signed bits, becomes text. */
static size_t value_text(const kymo_value *value, char text[32])
{
    if (value->kind == KYMO_VALUE_POINTER)
        return (size_t)snprintf(text, 32, "0x%" PRIx64, value->as.u64);
    if (value->kind == KYMO_VALUE_FLOW)
        return (size_t)snprintf(text, 32, "%016" PRIx64, value->as.u64);
    return (size_t)(kymo_decimal_u64(text, value->as.u64) - text);
}

static uint32_t label_attribute(kymo_otlp *w, const char *key, const kymo_value *value)
{
    struct kymo_otlp_dictionary *d = &w->dictionary;
    const kymo_text *string;
    char text[32];
    kymo_proto_clear(&d->value);
    switch (value->kind) {
    case KYMO_VALUE_STRING:
        string = &w->p->strings.data[value->as.string];
        return kymo_otlp_text_attribute(d, key, string->data, string->len);
    case KYMO_VALUE_BOOL:
        kymo_proto_member(&d->value, KYMO_OTLP_ANY_BOOL, value->as.u64 != 0);
        return kymo_otlp_attribute(d, key, NULL);
    case KYMO_VALUE_F64: /* with the bits of the double in the same memory */
        kymo_proto_fixed64(&d->value, KYMO_OTLP_ANY_DOUBLE, value->as.u64);
        return kymo_otlp_attribute(d, key, NULL);
    case KYMO_VALUE_I64:
        return kymo_otlp_number_attribute(d, key, value->as.i64, NULL);
    case KYMO_VALUE_NS:
        return kymo_otlp_number_attribute(d, key, value->as.i64, "ns");
    case KYMO_VALUE_U64:
    case KYMO_VALUE_TIME:
        if (value->as.u64 <= INT64_MAX)
            return kymo_otlp_number_attribute(d, key, value->as.i64, NULL);
        return kymo_otlp_text_attribute(d, key, text, value_text(value, text));
    default:
        return kymo_otlp_text_attribute(d, key, text, value_text(value, text));
    }
}

/* Keys that Kymo sets are not for the program. */
static uint32_t add_label(kymo_otlp *w, const kymo_label *label)
{
    static const char *const taken[] = {"", "thread.name", "thread.id", "process.pid",
                                        "allocation_size"};
    const char *key = kymo_profile_string(w->p, label->key);
    kymo_str other = {0};
    int is_taken = 0;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(taken); i++)
        is_taken |= strcmp(key, taken[i]) == 0;
    if (is_taken)
        kymo_str_printf(&other, "label:%s", key);
    w->dictionary.out.failed |= other.failed;
    const uint32_t row = label_attribute(w, is_taken ? kymo_str_cstr(&other) : key, &label->value);
    kymo_str_deinit(&other);
    return row;
}

static kymo_err take_labels(void *otlp, uint32_t set)
{
    kymo_otlp *w = otlp;
    uint32_t count;
    const kymo_label *label = kymo_profile_label_set(w->p, set, &count);
    w->attributes.len = w->thread_attributes;
    for (uint32_t i = 0; i < count; i++)
        KYMO_TRY(add_attribute(w, add_label(w, &label[i])));
    return KYMO_OK;
}

/* ---- samples ---- */

/* What the samples of all profiles share: stack and attributes, into w->message. */
static void begin_sample(kymo_otlp *w, uint32_t stack, uint32_t more)
{
    const uint32_t row = kymo_otlp_stack(&w->dictionary, stack);
    kymo_proto_clear(&w->inner);
    for (size_t i = 0; i < w->attributes.len; i++)
        kymo_proto_varint(&w->inner, w->attributes.data[i]);
    if (more)
        kymo_proto_varint(&w->inner, more);
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, KYMO_OTLP_SAMPLE_STACK, row);
    kymo_proto_packed(&w->message, KYMO_OTLP_SAMPLE_ATTRIBUTES, &w->inner);
}

static void put_value(kymo_otlp *w, uint32_t profile, uint64_t value)
{
    const size_t shared = w->message.len;
    if (value == 0)
        return;
    kymo_proto_clear(&w->values);
    kymo_proto_varint(&w->values, value);
    kymo_proto_packed(&w->message, KYMO_OTLP_SAMPLE_VALUES, &w->values);
    kymo_proto_message(&w->profiles[profile].samples, KYMO_OTLP_PROFILE_SAMPLE, &w->message);
    w->message.len = shared;
}

static kymo_err take_sample(void *otlp, uint32_t stack, const uint64_t *values)
{
    kymo_otlp *w = otlp;
    begin_sample(w, stack, 0);
    for (uint32_t i = 0; i < w->sums.column_count; i++)
        put_value(w, w->first + i, values[i]);
    return w->dictionary.out.failed ? KYMO_E_NOMEM : KYMO_OK;
}

static void add_profile(kymo_otlp *w, uint32_t at, const char *type, const char *unit,
                        const kymo_sample_type *of)
{
    w->profiles[w->first + at] = (struct kymo_otlp_profile){.type = type,
                                                            .unit = unit,
                                                            .period_type = of->period_name,
                                                            .period_unit = of->period_unit,
                                                            .period = kymo_sample_period(w->p, of)};
}

kymo_err kymo_otlp_samples(kymo_otlp *w)
{
    static const struct kymo_sums_writer writer = {take_thread, take_labels, take_sample};
    kymo_sample_sums_choose(&w->sums, w->encoder, NULL);
    w->first = w->n_profiles;
    for (uint32_t i = 0; i < w->p->sample_type_count; i++) {
        const kymo_sample_type *t = &w->p->sample_types[i];
        const struct kymo_sums_columns *columns = &w->sums.columns[i];
        if (columns->value == KYMO_NO_COLUMN)
            continue;
        add_profile(w, columns->value, t->name, t->unit, t);
        if (columns->count != KYMO_NO_COLUMN)
            add_profile(w, columns->count, t->count_name, "count", t);
    }
    w->n_profiles += w->sums.column_count;
    return kymo_sample_sums_write(&w->sums, w->encoder, &writer, w);
}

/* ---- allocations ---- */

static kymo_err take_allocations(void *otlp, uint32_t stack, const int64_t *values,
                                 uint64_t mean_bytes)
{
    kymo_otlp *w = otlp;
    begin_sample(
        w, stack,
        kymo_otlp_number_attribute(&w->dictionary, "allocation_size", (int64_t)mean_bytes, "By"));
    for (uint32_t i = kymo_heap_first_value(w->encoder); i < KYMO_HEAP_VALUES; i++)
        put_value(w, w->first + i, (uint64_t)values[i]);
    return w->dictionary.out.failed ? KYMO_E_NOMEM : KYMO_OK;
}

kymo_err kymo_otlp_heap(kymo_otlp *w, uint32_t show)
{
    static const struct kymo_heap_writer writer = {take_thread, take_labels, take_allocations};
    kymo_encode_options options = {.size = sizeof options};
    kymo_encoder encoder = *w->encoder;
    kymo_encoder_heap view;
    if (encoder.options)
        options = *encoder.options;
    options.show = show;
    encoder.options = &options;
    KYMO_TRY(kymo_encoder_heap_init(&view, &encoder));
    w->first = w->n_profiles;
    for (uint32_t i = 0; i < KYMO_HEAP_VALUES; i++)
        w->profiles[w->n_profiles++] =
            (struct kymo_otlp_profile){.type = kymo_heap_value_name(&view, i),
                                       .unit = kymo_heap_value_unit(i),
                                       .period_type = "space",
                                       .period_unit = "bytes",
                                       .period = kymo_heap_period(w->p)};
    kymo_err err = kymo_heap_sums_write(&view, &encoder, &writer, w);
    w->encoder->done = encoder.done;
    w->encoder->report_at = encoder.report_at;
    kymo_encoder_heap_deinit(&view);
    return err;
}
