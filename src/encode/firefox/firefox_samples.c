/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_samples.c - the rows of a thread's samples.
 *
 * A sample's weight is the CPU time since the thread's last sample, in milliseconds ("tracing-ms"),
 * so the call tree adds up to the CPU time; threadCPUDelta, in nanoseconds, draws the tracks. Wall
 * samples of waiting threads are rows, too, with the waiting time as weight; running threads have
 * their CPU samples. Of a thread whose calls were traced the rows are these calls' self times, and
 * its CPU samples draw the track alone: between two of them its CPU time grows evenly, and from the
 * last one to its end by what its clock has beyond them. Thus a thread that was too short for a
 * sample has its CPU time, too. After a wait
 * there is a row of weight 0, so that later CPU time is drawn after the wait. If the requested
 * sample type is an amount, only its samples are rows. Times are written as differences
 * (timeDeltas), which are shorter.
 */
#include <string.h>

#include "base/sum.h"
#include "encode/firefox/firefox.h"
#include "encode/json_table.h"

/* One row of the samples of a thread. */
struct row {
    uint64_t time_ns; /* since the profile's zero */
    uint64_t weight_ns;
    uint64_t cpu_ns;
    uint32_t stack;
};

/* The CPU time of a thread up to a moment: it grows evenly from the thread's begin to its first CPU
 * sample, from each to the next, and from the last one to the thread's end. */
struct cpu_line {
    size_t next;      /* the sample that it grows to; the number of samples: the end */
    uint64_t from_ns; /* time of the sample before, or of the begin */
    uint64_t sum_ns;  /* CPU time up to then */
    uint64_t told_ns; /* CPU time that is in rows */
    uint64_t end_ns;  /* of the thread */
    uint64_t rest_ns; /* CPU time between the last sample and the end */
};

/* The source of the next row: a sample, or the end of the wait before it. */
struct row_cursor {
    size_t next;
    uint64_t wait_end_ns; /* 0: the last row was not a wait, nor a traced call */
    uint32_t wait_stack;  /* of the row at that time; KYMO_NONE: none */
    int has_cpu;          /* rows have their CPU time */
    struct cpu_line cpu;
};

static int is_wait(const kymo_firefox *w, const kymo_sample_columns *s, size_t i)
{
    return w->amount == KYMO_NONE && w->types[s->kind[i]].adds == KYMO_ADDS_ELAPSED &&
           s->state[i] != KYMO_STATE_RUNNING;
}

static int is_shown(const kymo_firefox *w, const kymo_sample_columns *s, size_t i)
{
    if (w->amount != KYMO_NONE)
        return s->kind[i] == w->amount;
    if (w->is_traced)
        return s->kind[i] == KYMO_SAMPLE_TRACE;
    switch (w->types[s->kind[i]].adds) {
    case KYMO_ADDS_CPU_TIME:
        return 1;
    case KYMO_ADDS_ELAPSED:
        return is_wait(w, s, i) || !w->has_cpu;
    default:
        return 0;
    }
}

static int is_cpu(const kymo_firefox *w, const kymo_sample_columns *s, size_t i)
{
    return w->types[s->kind[i]].adds == KYMO_ADDS_CPU_TIME;
}

/* The thread's begin, or the recording's. */
static uint64_t begin_ns(const kymo_firefox *w, uint32_t thread)
{
    uint64_t start_ns = kymo_since_origin(w->p, w->p->threads.data[thread].start_ns);
    return start_ns > w->start_ns ? start_ns : w->start_ns;
}

static struct cpu_line begin_cpu(const kymo_firefox *w, uint32_t thread)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    const kymo_thread *t = &w->p->threads.data[thread];
    struct cpu_line c = {.from_ns = begin_ns(w, thread),
                         .end_ns = t->end_ns ? kymo_since_origin(w->p, t->end_ns) : w->end_ns};
    uint64_t last_ns = c.from_ns;
    uint64_t counted_ns = t->dropped_ns;
    for (size_t i = 0; i < s->count; i++) {
        if (!is_cpu(w, s, i))
            continue;
        counted_ns = kymo_sum(counted_ns, s->weight_ns[i]);
        last_ns = kymo_since_origin(w->p, s->time_ns[i]);
    }
    if (t->cpu_ns > counted_ns && c.end_ns > last_ns) {
        uint64_t most_ns = c.end_ns - last_ns; /* more is of samples that are missing */
        c.rest_ns = t->cpu_ns - counted_ns < most_ns ? t->cpu_ns - counted_ns : most_ns;
    }
    return c;
}

/* The next point of the line. Returns 0 behind its end. */
static int next_point(const kymo_firefox *w, const kymo_sample_columns *s, struct cpu_line *c,
                      uint64_t *to_ns, uint64_t *more_ns)
{
    while (c->next < s->count && !is_cpu(w, s, c->next))
        c->next++;
    if (c->next > s->count)
        return 0;
    int is_sample = c->next < s->count;
    *to_ns = is_sample ? kymo_since_origin(w->p, s->time_ns[c->next]) : c->end_ns;
    *more_ns = is_sample ? s->weight_ns[c->next] : c->rest_ns;
    return 1;
}

/* CPU time since the row before, of a row of traced calls at this time. */
static uint64_t take_cpu(const kymo_firefox *w, const kymo_sample_columns *s, struct cpu_line *c,
                         uint64_t time_ns)
{
    uint64_t to_ns = 0;
    uint64_t more_ns = 0;
    int has_next;
    while ((has_next = next_point(w, s, c, &to_ns, &more_ns)) && to_ns <= time_ns) {
        c->sum_ns = kymo_sum(c->sum_ns, more_ns);
        c->from_ns = to_ns;
        c->next++;
    }
    uint64_t cpu_ns = c->sum_ns;
    if (has_next && time_ns > c->from_ns) {
        double part = (double)(time_ns - c->from_ns) / (double)(to_ns - c->from_ns);
        cpu_ns = kymo_sum(cpu_ns, (uint64_t)(part * (double)more_ns));
    }
    uint64_t before_ns = c->told_ns;
    c->told_ns = cpu_ns > before_ns ? cpu_ns : before_ns;
    return c->told_ns - before_ns;
}

/* Of the row of sample i, or of one without a sample (i: their number). */
static uint64_t row_cpu_ns(const kymo_firefox *w, const kymo_sample_columns *s,
                           struct row_cursor *c, uint64_t time_ns, size_t i)
{
    if (!c->has_cpu)
        return 0;
    if (w->is_traced)
        return take_cpu(w, s, &c->cpu, time_ns);
    return i < s->count && is_cpu(w, s, i) ? s->weight_ns[i] : 0;
}

static int next_row(const kymo_firefox *w, const kymo_sample_columns *s, struct row_cursor *c,
                    struct row *row)
{
    while (c->next < s->count && !is_shown(w, s, c->next))
        c->next++;
    uint64_t time_ns =
        c->next < s->count ? kymo_since_origin(w->p, s->time_ns[c->next]) : w->end_ns;
    uint64_t ended_ns = c->wait_end_ns;
    c->wait_end_ns = 0;
    if (ended_ns && ended_ns < time_ns) {
        *row = (struct row){.time_ns = ended_ns, .stack = c->wait_stack};
        row->cpu_ns = row_cpu_ns(w, s, c, ended_ns, s->count);
        return 1;
    }
    if (c->next == s->count)
        return 0;
    size_t i = c->next++;
    *row = (struct row){
        .time_ns = time_ns,
        .weight_ns = s->weight_ns[i],
        .cpu_ns = row_cpu_ns(w, s, c, time_ns, i),
        .stack = s->stack[i] != KYMO_NONE ? w->stack_last[s->stack[i]] : w->stack_count,
    };
    if (is_wait(w, s, i) || w->is_traced) {
        c->wait_end_ns = time_ns + s->weight_ns[i];
        c->wait_stack = w->is_traced ? KYMO_NONE : row->stack;
    }
    return 1;
}

/* The viewer ignores the first threadCPUDelta of a thread, which for a thread with one sample is
 * all of its CPU time. So the first row has no stack and weight 0, at the begin of the thread or
 * recording; *time_ns is that time. at: the first row. */
static int needs_anchor(const kymo_firefox *w, uint32_t thread, struct row_cursor at,
                        uint64_t *time_ns)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    struct row first;
    *time_ns = begin_ns(w, thread);
    if (!next_row(w, s, &at, &first))
        return 0;
    if (*time_ns < first.time_ns)
        return 1;
    *time_ns = first.time_ns;
    return first.cpu_ns > 0;
}

static void put_weight(const kymo_firefox *w, uint64_t weight)
{
    if (w->amount == KYMO_NONE)
        kymo_json_ms(w->json, weight);
    else
        kymo_json_u64(w->json, weight);
}

static const char *weight_type(const kymo_firefox *w)
{
    if (w->amount == KYMO_NONE)
        return "tracing-ms";
    return strcmp(w->types[w->amount].unit, "bytes") == 0 ? "bytes" : "samples";
}

/* A profile without a CPU sample type has no CPU time to draw. */
static int has_cpu_deltas(const kymo_firefox *w)
{
    int has = 0;
    for (uint32_t i = 0; i < w->p->sample_type_count; i++)
        has |= w->types[i].adds == KYMO_ADDS_CPU_TIME;
    return has && w->amount == KYMO_NONE;
}

static int has_traced_calls(const kymo_firefox *w, const kymo_sample_columns *s)
{
    return w->amount == KYMO_NONE && w->p->sample_type_count > KYMO_SAMPLE_TRACE &&
           strcmp(w->types[KYMO_SAMPLE_TRACE].name, "trace") == 0 && s->count &&
           memchr(s->kind, KYMO_SAMPLE_TRACE, s->count);
}

kymo_err kymo_firefox_put_samples(kymo_firefox *w, uint32_t thread)
{
    kymo_json *j = w->json;
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    uint64_t before;
    w->is_traced = has_traced_calls(w, s);
    const struct row_cursor begin = {.has_cpu = 0};
    const struct row_cursor begin_with_cpu = {.has_cpu = 1, .cpu = begin_cpu(w, thread)};
    int anchor = needs_anchor(w, thread, begin_with_cpu, &before);
    uint64_t rows = anchor != 0;
    struct row row;
    struct row_cursor at;
    kymo_json_key_object(j, "samples");
    kymo_json_key_array(j, "stack");
    if (anchor)
        kymo_json_null(j);
    for (at = begin; next_row(w, s, &at, &row); rows++) {
        if (row.stack == KYMO_NONE)
            kymo_json_null(j);
        else
            kymo_json_u64(j, row.stack);
    }
    kymo_json_end_array(j);
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    kymo_json_key_array(j, "timeDeltas");
    if (anchor)
        kymo_json_ms(j, before);
    else
        before = 0;
    for (at = begin; next_row(w, s, &at, &row); before = row.time_ns)
        kymo_json_ms(j, row.time_ns - before);
    kymo_json_end_array(j);
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    kymo_json_key_array(j, "weight");
    if (anchor)
        kymo_json_u64(j, 0);
    for (at = begin; next_row(w, s, &at, &row);)
        put_weight(w, row.weight_ns);
    kymo_json_end_array(j);
    kymo_json_key_cstr(j, "weightType", weight_type(w));
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    /* with an empty table the front-end's query tool loops for ever */
    if (rows > 0 && has_cpu_deltas(w)) {
        kymo_json_key_array(j, "threadCPUDelta");
        if (anchor)
            kymo_json_u64(j, 0);
        for (at = begin_with_cpu; next_row(w, s, &at, &row);)
            kymo_json_u64(j, row.cpu_ns);
        kymo_json_end_array(j);
    }
    kymo_json_end_table(j, rows);
    return kymo_encoder_step(w->encoder, s->count);
}
