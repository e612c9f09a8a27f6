/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_samples.c - samples of CPU time and of wall time, as async-profiler writes them, and what
 * those have no room for in events beside them.
 *
 * A reader counts events of the first type, and adds up the periods of the second. The time that a
 * sample stands for is in kymo.CPUTime or kymo.WallTime, of the same time, thread and stack.
 * async-profiler writes the latter into a field of its wall samples since version 4.3. With that
 * field its older readers lose the events behind a wall sample, without a message.
 * Samples of other types, which a program made, are events with their value.
 *
 * Labels are an event for each run of neighbouring samples of a thread that have the same ones.
 */
#include "encode/jfr/jfr_order.h"

#include "encode/value_text.h"

#define STATE                                                        \
    {                                                                \
        .name = "state", .type = KYMO_JFR_THREAD_STATE, .is_pool = 1 \
    }
#define SAMPLE_FIELDS                                                                 \
    KYMO_JFR_START, {.name = "sampledThread", .type = KYMO_JFR_THREAD, .is_pool = 1}, \
        KYMO_JFR_STACK, STATE

KYMO_JFR_EVENT(execution_sample, "jdk.ExecutionSample", KYMO_JFR_EXECUTION_SAMPLE, SAMPLE_FIELDS);
KYMO_JFR_EVENT(wall_sample, "profiler.WallClockSample", KYMO_JFR_WALL_CLOCK_SAMPLE, SAMPLE_FIELDS,
               {.name = "samples", .type = KYMO_JFR_INT});
KYMO_JFR_EVENT(cpu_time, "kymo.CPUTime", KYMO_JFR_CPU_TIME, KYMO_JFR_START, KYMO_JFR_EVENT_THREAD,
               KYMO_JFR_STACK, {.name = "cpuTime", .type = KYMO_JFR_LONG, .note = KYMO_JFR_SPAN});
KYMO_JFR_EVENT(wall_time, "kymo.WallTime", KYMO_JFR_WALL_TIME, KYMO_JFR_START,
               KYMO_JFR_EVENT_THREAD, KYMO_JFR_STACK, STATE,
               {.name = "wallTime", .type = KYMO_JFR_LONG, .note = KYMO_JFR_SPAN});
KYMO_JFR_EVENT(label_event, "kymo.Label", KYMO_JFR_LABEL_EVENT, KYMO_JFR_START, KYMO_JFR_DURATION,
               KYMO_JFR_EVENT_THREAD, {.name = "key", .type = KYMO_JFR_STRING},
               {.name = "value", .type = KYMO_JFR_STRING},
               {.name = "samples", .type = KYMO_JFR_LONG});

/* ---- types that a program made ---- */

static kymo_err make_type(kymo_jfr *w, const kymo_sample_type *from, kymo_jfr_type *type)
{
    kymo_jfr_field *fields = kymo_arena_calloc(&w->arena, 4 * sizeof *fields, 8);
    const char *name = kymo_jfr_names_make(&w->type_names, &w->arena, "kymo.sample.", from->name);
    if (!fields || !name)
        return KYMO_E_NOMEM;
    fields[0] = (kymo_jfr_field)KYMO_JFR_START;
    fields[1] = (kymo_jfr_field)KYMO_JFR_EVENT_THREAD;
    fields[2] = (kymo_jfr_field)KYMO_JFR_STACK;
    fields[3] = (kymo_jfr_field){.name = "value",
                                 .type = KYMO_JFR_LONG,
                                 .note = (uint8_t)kymo_jfr_note_of_unit(from->unit),
                                 .label = from->unit};
    *type = (kymo_jfr_type){.name = name,
                            .id = w->type_count++,
                            .kind = KYMO_JFR_KIND_EVENT,
                            .field_count = 4,
                            .fields = fields,
                            .label = from->name,
                            .category = {"Kymo", "Samples"}};
    return KYMO_OK;
}

kymo_err kymo_jfr_make_sample_types(kymo_jfr *w)
{
    const kymo_jfr_type *known[KYMO_ADDS_COUNT] = {
        [KYMO_ADDS_CPU_TIME] = &execution_sample, [KYMO_ADDS_ELAPSED] = &wall_sample};
    uint32_t count = w->p->sample_type_count;
    kymo_jfr_type *own = kymo_arena_calloc(&w->arena, count * sizeof *own, 8);
    w->sample_types = kymo_arena_calloc(&w->arena, count * sizeof(kymo_jfr_type *), 8);
    if (!own || !w->sample_types)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const kymo_sample_type *from = &w->p->sample_types[i];
        const kymo_jfr_type **is = &known[from->adds];
        w->sample_types[i] = *is ? *is : &own[i];
        if (!*is)
            KYMO_TRY(make_type(w, from, &own[i]));
        *is = NULL; /* a second one of the kind has a type of its own */
    }
    return KYMO_OK;
}

/* ---- samples ---- */

struct row {
    uint64_t time_ns;
    uint64_t value;
    uint32_t thread;
    uint32_t stack;
    kymo_jfr_state state;
};

static void put_common(kymo_jfr *w, const struct row *row)
{
    kymo_jfr_varint(&w->events, row->time_ns);
    kymo_jfr_varint(&w->events, row->thread);
    kymo_jfr_varint(&w->events, row->stack);
}

static void put_value(kymo_jfr *w, const kymo_jfr_type *type, const struct row *row)
{
    size_t begin = kymo_jfr_begin(w, type);
    put_common(w, row);
    kymo_jfr_varint(&w->events, row->value);
    kymo_jfr_end(w, begin);
}

/* Readers of async-profiler's files take any other state for a sample of wall time. */
static void put_cpu(kymo_jfr *w, const struct row *row)
{
    size_t begin = kymo_jfr_begin(w, &execution_sample);
    put_common(w, row);
    kymo_jfr_varint(&w->events, kymo_jfr_state_key(&w->pools, KYMO_JFR_STATE_DEFAULT));
    kymo_jfr_end(w, begin);
    put_value(w, &cpu_time, row);
}

/* One sample may stand for several periods. */
static uint64_t periods_of(const kymo_jfr *w, uint64_t span_ns)
{
    uint64_t period = w->p->meta.wall_period_ns;
    uint64_t periods = period ? (span_ns + period / 2) / period : 1;
    return periods < 1 ? 1 : periods > INT32_MAX ? INT32_MAX : periods;
}

static void put_wall(kymo_jfr *w, const struct row *row)
{
    size_t begin = kymo_jfr_begin(w, &wall_sample);
    put_common(w, row);
    kymo_jfr_varint(&w->events, kymo_jfr_state_key(&w->pools, row->state));
    kymo_jfr_varint(&w->events, periods_of(w, row->value));
    kymo_jfr_end(w, begin);
    begin = kymo_jfr_begin(w, &wall_time);
    put_common(w, row);
    kymo_jfr_varint(&w->events, kymo_jfr_state_key(&w->pools, row->state));
    kymo_jfr_varint(&w->events, row->value);
    kymo_jfr_end(w, begin);
}

static kymo_jfr_state state_of(uint8_t state)
{
    static const kymo_jfr_state states[KYMO_STATE_COUNT] = {
        [KYMO_STATE_UNKNOWN] = KYMO_JFR_STATE_UNKNOWN,
        [KYMO_STATE_RUNNING] = KYMO_JFR_STATE_RUNNABLE,
        [KYMO_STATE_SLEEPING] = KYMO_JFR_STATE_SLEEPING,
        [KYMO_STATE_BLOCKED] = KYMO_JFR_STATE_BLOCKED,
    };
    return states[state];
}

/* ---- labels ---- */

static void put_label(kymo_jfr *w, const struct row *row, const kymo_label *label,
                      uint64_t duration_ns, uint64_t samples)
{
    char buffer[KYMO_VALUE_TEXT_MAX];
    size_t len;
    const char *text = kymo_value_text(w->p, &label->value, KYMO_FORMAT_STRING, buffer, &len);
    size_t begin = kymo_jfr_begin(w, &label_event);
    kymo_jfr_varint(&w->events, row->time_ns);
    kymo_jfr_varint(&w->events, duration_ns);
    kymo_jfr_varint(&w->events, row->thread);
    kymo_jfr_put_string(w, label->key);
    kymo_jfr_string(&w->events, text, len);
    kymo_jfr_varint(&w->events, samples);
    kymo_jfr_end(w, begin);
}

/* If a run of samples with the same labels begins at this one. */
static void put_labels(kymo_jfr *w, const struct row *row, const kymo_sample_columns *s,
                       size_t first)
{
    uint32_t count;
    size_t end = first + 1;
    if (s->labels[first] == KYMO_NONE || (first > 0 && s->labels[first - 1] == s->labels[first]))
        return;
    while (end < s->count && s->labels[end] == s->labels[first])
        end++;
    const kymo_label *labels = kymo_profile_label_set(w->p, s->labels[first], &count);
    uint64_t last_ns = kymo_since_origin(w->p, s->time_ns[end - 1]);
    for (uint32_t i = 0; i < count; i++)
        put_label(w, row, &labels[i], last_ns - row->time_ns, end - first);
}

/* ---- a thread's samples as a source ---- */

static int look(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_sample_columns *s = &w->p->samples.data[source->of];
    if (source->next >= s->count)
        return 0;
    source->time_ns = kymo_since_origin(w->p, s->time_ns[source->next]);
    return 1;
}

static void put(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_sample_columns *s = &w->p->samples.data[source->of];
    size_t i = source->next++;
    const kymo_jfr_type *type = w->sample_types[s->kind[i]];
    const struct row row = {.time_ns = source->time_ns,
                            .value = s->weight_ns[i],
                            .thread = kymo_jfr_thread_key(&w->pools, source->of),
                            .stack = kymo_jfr_stack_key(&w->pools, s->stack[i]),
                            .state = state_of(s->state[i])};
    if (s->labels)
        put_labels(w, &row, s, i);
    if (type == &execution_sample)
        put_cpu(w, &row);
    else if (type == &wall_sample)
        put_wall(w, &row);
    else
        put_value(w, type, &row);
}

const kymo_jfr_source_kind kymo_jfr_samples = {KYMO_TABLE_THREADS, look, put};
