/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"
#include "profile/time_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

/* Grows the columns one after the other. If one fails, those before it only have spare room: cap
 * changes after all have grown. */
kymo_err kymo_sample_columns_reserve(kymo_sample_columns *s, size_t n)
{
    size_t cap = s->cap < 16 ? 16 : s->cap + s->cap / 2;
    void *p;
    if (n <= s->cap - s->count)
        return KYMO_OK;
    cap = cap < s->count + n ? s->count + n : cap;
#define GROW(column)                                     \
    do {                                                 \
        p = realloc(s->column, cap * sizeof *s->column); \
        if (!p)                                          \
            return KYMO_E_NOMEM;                         \
        s->column = p;                                   \
    } while (0)
    GROW(time_ns);
    GROW(weight_ns);
    GROW(stack);
    GROW(kind);
    GROW(state);
    if (s->labels)
        GROW(labels);
#undef GROW
    s->cap = cap;
    return KYMO_OK;
}

static kymo_err reserve_labels(kymo_sample_columns *s)
{
    if (s->labels)
        return KYMO_OK;
    s->labels = malloc(s->cap * sizeof *s->labels);
    if (!s->labels)
        return KYMO_E_NOMEM;
    memset(s->labels, 0xff, s->cap * sizeof *s->labels); /* KYMO_NONE */
    return KYMO_OK;
}

/* The caller has reserved room. */
static void push(kymo_profile *profile, kymo_sample_columns *s, uint64_t time_ns, uint32_t stack,
                 uint64_t weight_ns, uint32_t type, uint32_t state, uint32_t labels)
{
    if (s->count > 0 && time_ns < s->time_ns[s->count - 1])
        s->unsorted = 1;
    s->time_ns[s->count] = time_ns;
    s->weight_ns[s->count] = weight_ns;
    s->stack[s->count] = stack;
    s->kind[s->count] = (uint8_t)type;
    s->state[s->count] = (uint8_t)state;
    if (s->labels)
        s->labels[s->count] = labels;
    s->count++;
    profile->sample_count++;
    profile->finished = 0;
}

kymo_err kymo_profile_add_sample(kymo_profile *profile, uint32_t thread, uint64_t time_ns,
                                 uint32_t stack, uint64_t weight_ns, uint32_t type,
                                 kymo_thread_state state)
{
    if (thread >= profile->threads.len || !kymo_is_row_or_none(stack, profile->stack_frame.len) ||
        type >= profile->sample_type_count || (unsigned)state >= KYMO_STATE_COUNT)
        return KYMO_E_INVALID;
    if (profile->sample_count >= KYMO_SAMPLES_MAX)
        return KYMO_E_TOO_BIG;
    kymo_sample_columns *s = &profile->samples.data[thread];
    KYMO_TRY(kymo_sample_columns_reserve(s, 1));
    push(profile, s, time_ns, stack, weight_ns, type, state, KYMO_NONE);
    return KYMO_OK;
}

static kymo_err check_sample(const kymo_profile *p, const kymo_sample *sample, kymo_error *detail)
{
    if (sample->size < sizeof *sample || sample->thread >= p->threads.len)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "thread %" PRIu32 " does not exist",
                              sample->thread);
    size_t at = p->samples.data[sample->thread].count;
    uint32_t wanted = sample->type == KYMO_SAMPLE_EACH ? p->sample_type_count : 1;
    if (sample->type != KYMO_SAMPLE_EACH && sample->type >= p->sample_type_count)
        return kymo_error_set(detail, KYMO_E_INVALID, at,
                              "thread %" PRIu32 ", sample row %zu: sample type %" PRIu32
                              " does not exist, there are %" PRIu32,
                              sample->thread, at, sample->type, p->sample_type_count);
    if (sample->value_count != wanted)
        return kymo_error_set(detail, KYMO_E_INVALID, at,
                              "thread %" PRIu32 ", sample row %zu: %" PRIu32
                              " values instead of %" PRIu32,
                              sample->thread, at, sample->value_count, wanted);
    if (!kymo_is_row_or_none(sample->stack, p->stack_frame.len) ||
        !kymo_is_row_or_none(sample->labels, p->label_sets.len) ||
        sample->state >= KYMO_STATE_COUNT)
        return kymo_error_set(detail, KYMO_E_INVALID, at,
                              "thread %" PRIu32
                              ", sample row %zu: its stack, labels or state does not exist",
                              sample->thread, at);
    return KYMO_OK;
}

kymo_err kymo_profile_add_sample_values(kymo_profile *profile, const kymo_sample *sample,
                                        kymo_error *detail)
{
    KYMO_TRY(check_sample(profile, sample, detail));
    kymo_sample_columns *s = &profile->samples.data[sample->thread];
    kymo_err err = profile->sample_count + sample->value_count <= KYMO_SAMPLES_MAX
                       ? kymo_sample_columns_reserve(s, sample->value_count)
                       : KYMO_E_TOO_BIG;
    if (err == KYMO_OK && sample->labels != KYMO_NONE)
        err = reserve_labels(s);
    if (err != KYMO_OK)
        return kymo_error_set(detail, err, s->count, "%s", kymo_err_text(err));
    for (uint32_t i = 0; i < sample->value_count; i++)
        if (sample->values[i] > 0)
            push(profile, s, sample->time_ns, sample->stack, sample->values[i],
                 sample->type == KYMO_SAMPLE_EACH ? i : sample->type, sample->state,
                 sample->labels);
    return KYMO_OK;
}

kymo_samples kymo_profile_samples(const kymo_profile *profile, uint32_t thread)
{
    if (thread >= profile->samples.len)
        return (kymo_samples){0};
    const kymo_sample_columns *s = &profile->samples.data[thread];
    return (kymo_samples){s->time_ns, s->weight_ns, s->stack, s->kind, s->state, s->count};
}

kymo_err kymo_profile_set_sample_labels(kymo_profile *profile, uint32_t thread, size_t sample,
                                        uint32_t labels)
{
    if (thread >= profile->threads.len || sample >= profile->samples.data[thread].count ||
        !kymo_is_row_or_none(labels, profile->label_sets.len))
        return KYMO_E_INVALID;
    kymo_sample_columns *s = &profile->samples.data[thread];
    if (!s->labels && labels == KYMO_NONE)
        return KYMO_OK;
    KYMO_TRY(reserve_labels(s));
    s->labels[sample] = labels;
    return KYMO_OK;
}

const uint32_t *kymo_profile_sample_labels(const kymo_profile *profile, uint32_t thread)
{
    return thread < profile->samples.len ? profile->samples.data[thread].labels : NULL;
}

uint64_t kymo_profile_sample_count(const kymo_profile *profile)
{
    return profile->sample_count;
}

/* Puts a column into the new order, through scratch (8 bytes a sample). */
#define PERMUTE(column)                                                                            \
    do {                                                                                           \
        for (size_t i = 0; i < s->count; i++)                                                      \
            memcpy(scratch + i * sizeof *s->column, &s->column[order[i].from], sizeof *s->column); \
        memcpy(s->column, scratch, s->count * sizeof *s->column);                                  \
    } while (0)

kymo_err kymo_sample_columns_sort(kymo_sample_columns *s)
{
    if (!s->unsorted)
        return KYMO_OK;
    struct kymo_time_order *order;
    KYMO_TRY(kymo_time_order_make(s->time_ns, sizeof *s->time_ns, s->count, &order));
    unsigned char *scratch = malloc(s->count * sizeof(uint64_t));
    if (!scratch) {
        free(order);
        return KYMO_E_NOMEM;
    }
    PERMUTE(time_ns);
    PERMUTE(weight_ns);
    PERMUTE(stack);
    PERMUTE(kind);
    PERMUTE(state);
    if (s->labels)
        PERMUTE(labels);
    free(order);
    free(scratch);
    s->unsorted = 0;
    return KYMO_OK;
}

static int is_shared_out(const kymo_sample_columns *s, size_t i, uint32_t apart)
{
    return s->kind[i] == KYMO_SAMPLE_CPU && (apart == KYMO_NONE || s->stack[i] != apart);
}

static size_t count_shared_out(const kymo_sample_columns *s, uint32_t apart)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        n += (size_t)is_shared_out(s, i, apart);
    return n;
}

void kymo_sample_columns_even_out(kymo_sample_columns *s, uint32_t apart, size_t window)
{
    size_t left = count_shared_out(s, apart);
    size_t at = 0;
    while (left > 0) {
        /* the last run includes a rest that is too short for a separate run */
        size_t n = left < 2 * window ? left : window;
        size_t end = at;
        uint64_t sum = 0;
        for (size_t seen = 0; seen < n; end++) {
            if (!is_shared_out(s, end, apart))
                continue;
            sum = sum + s->weight_ns[end] < sum ? UINT64_MAX : sum + s->weight_ns[end];
            seen++;
        }
        for (uint64_t rest = sum % n; at < end; at++) {
            if (!is_shared_out(s, at, apart))
                continue;
            s->weight_ns[at] = sum / n + (rest > 0);
            rest -= rest > 0;
        }
        left -= n;
    }
}

static uint64_t scaled(uint64_t value, uint64_t from, uint64_t to)
{
    return (uint64_t)((unsigned __int128)value * to / from);
}

void kymo_sample_columns_scale(kymo_sample_columns *s, uint32_t apart, uint64_t from_ns,
                               uint64_t to_ns)
{
    uint64_t before = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!is_shared_out(s, i, apart))
            continue;
        /* Of the sums up to here, so that what is rounded off one is in the next. */
        uint64_t after = kymo_sum(before, s->weight_ns[i]);
        if (after > from_ns)
            after = from_ns;
        s->weight_ns[i] = scaled(after, from_ns, to_ns) - scaled(before, from_ns, to_ns);
        before = after;
    }
}

void kymo_sample_columns_share(kymo_sample_columns *s, uint64_t sum_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        n += s->kind[i] == KYMO_SAMPLE_CPU && s->weight_ns[i] == 0;
    uint64_t rest = n ? sum_ns % n : 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->kind[i] != KYMO_SAMPLE_CPU || s->weight_ns[i] != 0)
            continue;
        s->weight_ns[i] = sum_ns / n + (rest > 0);
        rest -= rest > 0;
    }
}

void kymo_sample_columns_deinit(kymo_sample_columns *samples)
{
    free(samples->time_ns);
    free(samples->weight_ns);
    free(samples->stack);
    free(samples->kind);
    free(samples->state);
    free(samples->labels);
}
