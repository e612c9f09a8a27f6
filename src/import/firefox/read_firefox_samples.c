/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_firefox_samples.c - samples, with what they weigh.
 *
 * A weight is a number of samples, a time or a number of bytes. Threads of one file may differ, so
 * each is a sample type of its own. CPU time, where a file has it, is one more.
 *
 * Four columns are read side by side, each by a reader of its own: no copy of them is made.
 */
#include <string.h>

#include "import/firefox/read_firefox.h"

/* Where columns begin. */
struct columns {
    kymo_firefox_place stack, time, time_deltas, weight, weight_type, cpu;
};

static kymo_err find_columns(struct kymo_firefox_reader *r, kymo_firefox_place place,
                             struct columns *c)
{
    static const char *const keys[] = {"stack",  "time",       "timeDeltas",
                                       "weight", "weightType", "threadCPUDelta"};
    kymo_firefox_place *const places[] = {&c->stack,  &c->time,        &c->time_deltas,
                                          &c->weight, &c->weight_type, &c->cpu};
    *c = (struct columns){0};
    return kymo_firefox_find(r, place, keys, places, KYMO_ARRAY_LEN(keys));
}

static kymo_err weight_of(struct kymo_firefox_reader *r, const struct columns *c,
                          enum kymo_firefox_weight *weight)
{
    kymo_json_read j = kymo_firefox_open(r, c->weight_type);
    kymo_json_text text = {.data = "samples", .len = 7};
    if (c->weight_type && kymo_json_peek(&j) == '"')
        kymo_json_read_text(&j, &text);
    if (kymo_json_is_text(&text, "tracing-ms"))
        *weight = KYMO_FIREFOX_TIME;
    else if (kymo_json_is_text(&text, "bytes"))
        *weight = KYMO_FIREFOX_BYTES;
    else if (kymo_json_is_text(&text, "samples"))
        *weight = KYMO_FIREFOX_SAMPLES;
    else
        return kymo_import_unsupported(r->d, c->weight_type,
                                       "weights that are neither samples, tracing-ms nor bytes");
    return KYMO_OK;
}

static int is_array(const struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    return place && kymo_json_peek(&j) == '[';
}

static int has_rows(const struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    return place && kymo_json_peek(&j) == '[' && kymo_json_enter(&j, '[') &&
           kymo_json_next_element(&j);
}

kymo_err kymo_firefox_look_at_samples(struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    struct columns c;
    enum kymo_firefox_weight weight;
    KYMO_TRY(find_columns(r, place, &c));
    KYMO_TRY(weight_of(r, &c, &weight));
    if (has_rows(r, c.stack))
        r->weight_types |= 1u << weight;
    r->has_cpu |= r->cpu_factor > 0 && has_rows(r, c.cpu);
    return KYMO_OK;
}

/* The default is the largest of times, bytes, samples that there is. */
kymo_err kymo_firefox_set_types(struct kymo_firefox_reader *r)
{
    static const kymo_sample_type known[] = {
        [KYMO_FIREFOX_SAMPLES] = {.size = sizeof known[0], .name = "samples", .unit = "count"},
        [KYMO_FIREFOX_TIME] = {.size = sizeof known[0],
                               .name = "time",
                               .unit = "nanoseconds",
                               .adds = KYMO_ADDS_ELAPSED},
        [KYMO_FIREFOX_BYTES] = {.size = sizeof known[0], .name = "bytes", .unit = "bytes"},
    };
    static const kymo_sample_type cpu = {
        .size = sizeof cpu, .name = "cpu", .unit = "nanoseconds", .adds = KYMO_ADDS_CPU_TIME};
    kymo_sample_type types[4];
    uint32_t count = 0;
    uint32_t shown = 0;
    if (r->weight_types == 0)
        r->weight_types = 1u << KYMO_FIREFOX_SAMPLES;
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(known); i++) {
        if (!(r->weight_types & 1u << i))
            continue;
        r->sample_types[i] = count;
        shown = i == KYMO_FIREFOX_TIME || count == 0 ? count : shown;
        types[count] = known[i];
        if (i == KYMO_FIREFOX_TIME) {
            types[count].period = kymo_profile_meta(r->d->profile)->period_ns;
            types[count].count_name = count == 0 ? "samples" : NULL;
        }
        count++;
    }
    r->cpu_type = count;
    if (r->has_cpu)
        types[count++] = cpu;
    types[shown].is_default = 1;
    return kymo_profile_set_sample_types(r->d->profile, types, count, r->d->detail);
}

/* ---- rows ---- */

/* A column that is read row by row; place 0: there is none. */
struct cells {
    kymo_json_read j;
    int is_there;
};

static struct cells open_cells(const struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    struct cells c = {.j = kymo_firefox_open(r, place), .is_there = is_array(r, place)};
    if (c.is_there)
        kymo_json_enter(&c.j, '[');
    return c;
}

/* The next cell as a number, times 10^digits: 1; 0: it is null, or the column has ended. */
static int next_number(struct cells *c, unsigned digits, int64_t *value)
{
    *value = 0;
    if (!c->is_there || !kymo_json_next_element(&c->j)) {
        c->is_there = 0;
        return 0;
    }
    char first = kymo_json_peek(&c->j);
    if (first != '-' && !(first >= '0' && first <= '9')) {
        kymo_json_skip(&c->j);
        return 0;
    }
    *value = kymo_json_read_scaled(&c->j, digits);
    return 1;
}

struct rows {
    struct cells stack, time, weight, cpu;
    enum kymo_firefox_weight type;
    int are_deltas; /* of times */
    int has_weights;
    int64_t time_ns;
    int is_first;
};

static void next_time(struct rows *rows)
{
    int64_t value;
    if (!next_number(&rows->time, 6, &value))
        return;
    if (!rows->are_deltas)
        rows->time_ns = value;
    else if (__builtin_add_overflow(rows->time_ns, value, &rows->time_ns))
        rows->time_ns = INT64_MAX;
}

static kymo_err add_value(struct kymo_firefox_reader *r, kymo_sample *sample, uint32_t type,
                          uint64_t value)
{
    sample->type = type;
    sample->values = &value;
    sample->value_count = 1;
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_sample_values(r->d->profile, sample, r->d->detail);
}

static kymo_err read_weight(struct kymo_firefox_reader *r, struct rows *rows, int64_t *weight)
{
    size_t at = rows->weight.j.at;
    *weight = 1;
    if (rows->has_weights)
        (void)next_number(&rows->weight, rows->type == KYMO_FIREFOX_TIME ? 6 : 0, weight);
    if (*weight < 0)
        return kymo_import_unsupported(r->d, at,
                                       "a sample has a negative weight: a difference of profiles "
                                       "is not read; kymo diff A B compares the two themselves");
    return KYMO_OK;
}

/* A row without a stack and without time is no sample: it ends the one before it. */
static kymo_err add_row(struct kymo_firefox_reader *r, struct rows *rows, uint32_t stack,
                        uint32_t thread)
{
    int64_t weight;
    int64_t cpu;
    next_time(rows);
    KYMO_TRY(read_weight(r, rows, &weight));
    (void)next_number(&rows->cpu, 0, &cpu);
    if (rows->is_first || cpu < 0 || cpu > INT64_MAX / 1000)
        cpu = 0; /* of the first one it is not known since when it counts */
    rows->is_first = 0;
    kymo_sample sample = {.size = sizeof sample,
                          .thread = thread,
                          .stack = stack,
                          .labels = KYMO_NONE,
                          .time_ns = rows->time_ns > 0 ? (uint64_t)rows->time_ns : 0,
                          .state = rows->cpu.is_there && cpu == 0 ? KYMO_STATE_SLEEPING
                                                                  : KYMO_STATE_RUNNING};
    if (stack != KYMO_NONE || rows->has_weights)
        KYMO_TRY(add_value(r, &sample, r->sample_types[rows->type], (uint64_t)weight));
    if (r->has_cpu && cpu > 0)
        KYMO_TRY(add_value(r, &sample, r->cpu_type, (uint64_t)cpu * r->cpu_factor));
    return KYMO_OK;
}

static kymo_err check_rows(struct kymo_firefox_reader *r, const struct rows *rows)
{
    KYMO_TRY(kymo_firefox_check(r, &rows->stack.j, "the column stack"));
    KYMO_TRY(kymo_firefox_check(r, &rows->time.j, "the column time"));
    KYMO_TRY(kymo_firefox_check(r, &rows->weight.j, "the column weight"));
    return kymo_firefox_check(r, &rows->cpu.j, "the column threadCPUDelta");
}

kymo_err kymo_firefox_read_samples(struct kymo_firefox_reader *r, kymo_firefox_place place,
                                   struct kymo_firefox_tables *t, uint32_t thread)
{
    struct columns c;
    struct rows rows = {.is_first = 1};
    uint32_t stack;
    int64_t row;
    KYMO_TRY(find_columns(r, place, &c));
    KYMO_TRY(weight_of(r, &c, &rows.type));
    rows.are_deltas = !is_array(r, c.time);
    rows.stack = open_cells(r, c.stack);
    rows.time = open_cells(r, rows.are_deltas ? c.time_deltas : c.time);
    rows.weight = open_cells(r, c.weight);
    rows.cpu = open_cells(r, c.cpu);
    rows.has_weights = rows.weight.is_there;
    for (;;) {
        int has_stack = next_number(&rows.stack, 0, &row);
        if (!rows.stack.is_there)
            break;
        if (has_stack && (row < 0 || row >= KYMO_NONE))
            return kymo_import_fault(r->d, rows.stack.j.at, "there is no stack %lld",
                                     (long long)row);
        KYMO_TRY(kymo_firefox_find_stack(r, t, has_stack ? (uint32_t)row : KYMO_NONE, &stack));
        KYMO_TRY(add_row(r, &rows, stack, thread));
    }
    return check_rows(r, &rows);
}
