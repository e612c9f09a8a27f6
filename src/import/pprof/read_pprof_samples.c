/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pprof_samples.c - samples with their threads, labels and values.
 *
 * The format has no times. The samples of a thread are put one after the other, each as long as its
 * value of the default type if that is a time, and shrunk to the duration of the profile if they
 * are longer together.
 */
#include <string.h>

#include "import/pprof/read_pprof.h"

enum { STEP_NS = 1000000 }; /* from one sample to the next if the values are no times */

/* Which thread a sample is of. */
struct owner {
    int32_t pid, tid;
    uint32_t name; /* string */
};

/* ---- labels ---- */

struct label {
    uint64_t position;
    uint64_t key, str, num;
    int has_num;
};

/* Tools have several names for the same thing. */
static int is_one_of(const char *key, size_t len, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == len && memcmp(words[i], key, len) == 0)
            return 1;
    return 0;
}
#define IS_ONE_OF(key, len, ...)                                \
    is_one_of((key), (len), (const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Whether the label says the thread; then it is no label of the profile. */
static kymo_err take_owner(struct kymo_pprof_reader *r, const struct label *label,
                           struct owner *owner, int *is_owner)
{
    const char *key;
    size_t len;
    int is_int = label->has_num && label->num <= INT32_MAX;
    KYMO_TRY(kymo_pprof_find_text(r, label->key, label->position, &key, &len));
    *is_owner = 1;
    if (is_int && IS_ONE_OF(key, len, "pid", "process_id", "process id"))
        owner->pid = (int32_t)label->num;
    else if (is_int && IS_ONE_OF(key, len, "tid", "thread_id", "thread id"))
        owner->tid = (int32_t)label->num;
    else if (label->str && IS_ONE_OF(key, len, "thread", "thread_name", "thread name"))
        return kymo_pprof_find_string(r, label->str, label->position, &owner->name);
    else
        *is_owner = 0;
    return KYMO_OK;
}

static kymo_err read_label(struct kymo_pprof_reader *r, kymo_reader m, struct owner *owner)
{
    kymo_wire_field f;
    struct label label = {.position = kymo_pprof_place(r, m.at)};
    kymo_label row = {.value = {.kind = KYMO_VALUE_STRING}};
    int is_owner;
    while (kymo_wire_next(&m, &f)) {
        if (f.type != KYMO_WIRE_VARINT)
            continue;
        label.key = f.number == KYMO_WIRE_LABEL_KEY ? f.value : label.key;
        label.str = f.number == KYMO_WIRE_LABEL_STR ? f.value : label.str;
        label.num = f.number == KYMO_WIRE_LABEL_NUM ? f.value : label.num;
    }
    if (m.failed)
        return kymo_import_fault(r->d, label.position, "a label is no valid message");
    label.has_num = label.str == 0;
    KYMO_TRY(take_owner(r, &label, owner, &is_owner));
    if (is_owner || r->labels.len == KYMO_LABEL_SET_MAX)
        return KYMO_OK;
    KYMO_TRY(kymo_pprof_find_string(r, label.key, label.position, &row.key));
    if (label.has_num)
        row.value = (kymo_value){.kind = KYMO_VALUE_I64, .as.i64 = (int64_t)label.num};
    else
        KYMO_TRY(kymo_pprof_find_string(r, label.str, label.position, &row.value.as.string));
    return kymo_vec_push(&r->labels, row);
}

/* ---- values ---- */

static kymo_err take_value(struct kymo_pprof_reader *r, uint64_t position, uint64_t value,
                           uint32_t at)
{
    if (at >= r->type_count)
        return kymo_import_fault(r->d, position, "a sample has more than %u values",
                                 (unsigned)r->type_count);
    if ((int64_t)value < 0)
        return kymo_import_unsupported(
            r->d, position,
            "a sample has the value %lld: a difference of profiles is not read; kymo diff A B "
            "compares the two themselves",
            (long long)value);
    if (__builtin_mul_overflow(value, r->factors[at], &r->values[at]))
        return kymo_import_fault(r->d, position, "a sample's value is too large");
    return KYMO_OK;
}

/* ---- stacks ---- */

static kymo_err make_stack(struct kymo_pprof_reader *r, uint64_t position, uint32_t *stack)
{
    uint32_t frame;
    *stack = KYMO_NONE;
    for (size_t i = r->stack.len; i-- > 0;) {
        KYMO_TRY(kymo_pprof_find_frame(r, r->stack.data[i], position, &frame));
        KYMO_TRY(kymo_import_stack(r->d, *stack, frame, stack));
    }
    return KYMO_OK;
}

static kymo_err take_location(struct kymo_pprof_reader *r, uint64_t position, uint64_t id)
{
    if (r->stack.len >= KYMO_IMPORT_DEPTH_MAX)
        return kymo_import_unsupported(r->d, position, "a stack has more than %u frames",
                                       KYMO_IMPORT_DEPTH_MAX);
    return kymo_vec_push(&r->stack, id);
}

/* ---- samples ---- */

/* Reads the fields of a sample into r->stack, r->values and r->labels. */
static kymo_err read_fields(struct kymo_pprof_reader *r, kymo_reader m, struct owner *owner)
{
    kymo_wire_field f;
    uint64_t number;
    uint64_t position = kymo_pprof_place(r, m.at);
    uint32_t values = 0;
    int is_broken = 0;
    r->stack.len = 0;
    r->labels.len = 0;
    memset(r->values, 0, r->type_count * sizeof *r->values);
    while (kymo_wire_next(&m, &f)) {
        if (f.number == KYMO_WIRE_SAMPLE_LOCATION)
            while (kymo_wire_number(&f, &number))
                KYMO_TRY(take_location(r, position, number));
        else if (f.number == KYMO_WIRE_SAMPLE_VALUE)
            while (kymo_wire_number(&f, &number))
                KYMO_TRY(take_value(r, position, number, values++));
        else if (f.number == KYMO_WIRE_SAMPLE_LABEL && f.type == KYMO_WIRE_BYTES)
            KYMO_TRY(read_label(r, f.bytes, owner));
        is_broken |= f.number <= KYMO_WIRE_SAMPLE_VALUE && f.bytes.failed;
    }
    if (m.failed || is_broken)
        return kymo_import_fault(r->d, position, "a sample is no valid message");
    if (values != r->type_count)
        return kymo_import_fault(r->d, position, "a sample has %u values instead of %u",
                                 (unsigned)values, (unsigned)r->type_count);
    return KYMO_OK;
}

/* Where a time that is the sum of so many samples' values lies. */
static uint64_t time_of(const struct kymo_pprof_reader *r, uint64_t sum)
{
    if (r->duration_nanos == 0 || r->duration_nanos > INT64_MAX ||
        r->shown_sum <= r->duration_nanos)
        return sum;
    return (uint64_t)((unsigned __int128)sum * r->duration_nanos / r->shown_sum);
}

static void step(const struct kymo_pprof_reader *r, kymo_imported_thread *thread)
{
    uint64_t by = r->shown_is_time ? r->values[r->shown_type] : STEP_NS;
    if (__builtin_add_overflow(thread->weight, by, &thread->weight) || thread->weight > INT64_MAX)
        thread->weight = INT64_MAX;
}

static kymo_err add_sample(struct kymo_pprof_reader *r, uint64_t position,
                           const struct owner *owner)
{
    uint32_t place;
    kymo_profile *p = r->d->profile;
    kymo_sample sample = {.size = sizeof sample,
                          .type = KYMO_SAMPLE_EACH,
                          .values = r->values,
                          .value_count = r->type_count};
    KYMO_TRY(kymo_import_thread(r->d, owner->pid, owner->tid, owner->name, &place));
    KYMO_TRY(make_stack(r, position, &sample.stack));
    KYMO_TRY(
        kymo_profile_add_label_set(p, r->labels.data, (uint32_t)r->labels.len, &sample.labels));
    kymo_imported_thread *thread = &r->d->threads.data[place];
    uint64_t before = thread->weight;
    step(r, thread);
    sample.thread = thread->thread;
    sample.time_ns = time_of(r, r->shown_is_cpu ? thread->weight : before);
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_sample_values(p, &sample, r->d->detail);
}

static kymo_err each_sample(struct kymo_pprof_reader *r, int is_first_pass)
{
    kymo_reader all = kymo_reader_of(r->d->data, r->d->len);
    kymo_wire_field f;
    uint32_t name;
    KYMO_TRY(kymo_import_string(r->d, "all threads", 11, &name));
    while (kymo_wire_next(&all, &f)) {
        if (f.number != KYMO_WIRE_PROFILE_SAMPLE)
            continue;
        struct owner owner = {.name = 0};
        uint64_t position = kymo_pprof_place(r, f.bytes.at);
        KYMO_TRY(read_fields(r, f.bytes, &owner));
        if (owner.tid == 0 && owner.name == 0)
            owner.name = name;
        r->shown_sum += is_first_pass && r->shown_is_time ? r->values[r->shown_type] : 0;
        if (!is_first_pass)
            KYMO_TRY(add_sample(r, position, &owner));
    }
    return KYMO_OK;
}

kymo_err kymo_pprof_first_pid(struct kymo_pprof_reader *r, int32_t *pid)
{
    kymo_reader all = kymo_reader_of(r->d->data, r->d->len);
    kymo_wire_field f;
    struct owner owner = {.name = 0};
    while (kymo_wire_next(&all, &f))
        if (f.number == KYMO_WIRE_PROFILE_SAMPLE) {
            KYMO_TRY(read_fields(r, f.bytes, &owner));
            break;
        }
    *pid = owner.pid;
    return KYMO_OK;
}

kymo_err kymo_pprof_read_samples(struct kymo_pprof_reader *r)
{
    KYMO_TRY(each_sample(r, 1));
    return each_sample(r, 0);
}
