/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_cpu_counter.c - the CPU time of each process, of all its threads, as the counter that
 * the viewer knows as "processCPU": its query tool lists it, and the viewer draws it where its
 * experimental tracks of process CPU are switched on.
 *
 * A sample's weight is CPU time before it. Weights are summed up in slices of the recording; each
 * slice gives a row at its end, in milliseconds: per millisecond, this is the number of CPUs used.
 * Slices without CPU time are left out unless they are next to one with CPU time, so idle time is
 * drawn as 0.
 */
#include <stdlib.h>

#include "base/sum.h"
#include "encode/firefox/firefox_heap.h"
#include "encode/json_table.h"
#include "kymo/marker_abi.h"

enum { SLICES_MAX = 1000 };
#define SLICE_LEAST_NS 10000000u

struct slices {
    uint64_t width_ns;
    size_t count;
    uint64_t cpu_ns[SLICES_MAX + 1]; /* of one process */
};

static void add_thread(const kymo_firefox *w, uint32_t thread, struct slices *s)
{
    const kymo_sample_columns *c = &w->p->samples.data[thread];
    for (size_t i = 0; i < c->count; i++) {
        if (w->types[c->kind[i]].adds != KYMO_ADDS_CPU_TIME || c->weight_ns[i] == 0)
            continue;
        uint64_t time_ns = kymo_since_origin(w->p, c->time_ns[i]);
        uint64_t at = time_ns > w->start_ns ? (time_ns - w->start_ns) / s->width_ns : 0;
        uint64_t *cpu_ns = &s->cpu_ns[at < s->count ? at : s->count - 1];
        *cpu_ns = kymo_sum(*cpu_ns, c->weight_ns[i]);
    }
}

static int is_row(const struct slices *s, size_t i)
{
    return s->cpu_ns[i] || (i > 0 && s->cpu_ns[i - 1]) || (i + 1 < s->count && s->cpu_ns[i + 1]);
}

static uint64_t end_of(const kymo_firefox *w, const struct slices *s, size_t i)
{
    return i + 1 < s->count ? w->start_ns + (i + 1) * s->width_ns : w->end_ns;
}

/* s->count: the process used no CPU time. */
static size_t first_row(const struct slices *s)
{
    size_t first = 0;
    while (first < s->count && !is_row(s, first))
        first++;
    return first;
}

static kymo_err put_counter(kymo_firefox *w, const struct slices *s, size_t first, uint32_t process,
                            uint32_t main_thread)
{
    kymo_json *j = w->json;
    kymo_firefox_counter counter = {.name = "processCPU",
                                    .category = "CPU",
                                    .label = "Process CPU",
                                    .description = "CPU time of all threads",
                                    .unit = "percent",
                                    .process = process,
                                    .flags = KYMO_COUNTER_RATE,
                                    .color = KYMO_COLOR_GREY,
                                    .order = KYMO_FIREFOX_HEAP_COUNTERS,
                                    .is_cpu = 1};
    uint64_t rows = 1; /* the row before the first, which the viewer takes as 0 */
    kymo_firefox_begin_counter(w, &counter, main_thread);
    kymo_json_key_object(j, "samples");
    kymo_json_key_array(j, "time");
    kymo_json_ms(j, w->start_ns + first * s->width_ns);
    for (size_t i = first; i < s->count; i++)
        if (is_row(s, i)) {
            kymo_json_ms(j, end_of(w, s, i));
            rows++;
        }
    kymo_json_end_array(j);
    kymo_json_key_array(j, "count");
    kymo_json_u64(j, 0);
    for (size_t i = first; i < s->count; i++)
        if (is_row(s, i))
            kymo_json_ms(j, s->cpu_ns[i]);
    kymo_json_end_array(j);
    kymo_json_end_table(j, rows);
    kymo_json_end_object(j);
    return j->err;
}

/* Threads are sorted by process. */
static kymo_err put_all(kymo_firefox *w, struct slices *s, const uint32_t *main_thread)
{
    const uint32_t *order = w->p->thread_order.data;
    size_t n = w->p->thread_order.len;
    for (size_t i = 0, next; i < n; i = next) {
        uint32_t process = w->p->threads.data[order[i]].process;
        for (size_t k = 0; k < s->count; k++)
            s->cpu_ns[k] = 0;
        for (next = i; next < n && w->p->threads.data[order[next]].process == process; next++)
            add_thread(w, order[next], s);
        size_t first = first_row(s);
        if (first < s->count)
            KYMO_TRY(put_counter(w, s, first, process, main_thread[process]));
    }
    return KYMO_OK;
}

kymo_err kymo_firefox_put_cpu_counters(kymo_firefox *w, const uint32_t *main_thread)
{
    uint64_t length = w->end_ns - w->start_ns;
    if (length == 0 || !w->has_cpu || w->amount != KYMO_NONE)
        return KYMO_OK;
    struct slices *s = malloc(sizeof *s);
    if (!s)
        return KYMO_E_NOMEM;
    s->width_ns = length / SLICES_MAX + 1;
    s->width_ns = s->width_ns > SLICE_LEAST_NS ? s->width_ns : SLICE_LEAST_NS;
    s->count = (size_t)((length - 1) / s->width_ns) + 1;
    kymo_err err = put_all(w, s, main_thread);
    free(s);
    return err;
}
