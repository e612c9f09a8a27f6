/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "memory/write.h"

/* Prometheus counts in seconds, and shares of 1. */
static const uint8_t digits[] = {
    [KYMO_FIGURE_BYTES] = 0, [KYMO_FIGURE_COUNTS] = 0,  [KYMO_FIGURE_NS] = 9,
    [KYMO_FIGURE_US] = 6,    [KYMO_FIGURE_PERCENT] = 4,
};

static void put_head(kymo_str *out, const char *metric, const char *help, int is_counter)
{
    kymo_str_printf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric,
                    is_counter ? "counter" : "gauge");
}

/* The rows from first on that have its metric. */
static unsigned put_metric(kymo_str *out, const struct kymo_figures *f, unsigned first)
{
    const struct kymo_figure_row *head = &kymo_figure_rows[first];
    int has_head = 0;
    unsigned i = first;
    for (; i < KYMO_FIGURE_COUNT && strcmp(kymo_figure_rows[i].metric, head->metric) == 0; i++) {
        const struct kymo_figure_row *row = &kymo_figure_rows[i];
        if (!f->is_known[i])
            continue;
        if (!has_head)
            put_head(out, head->metric, head->help, head->is_counter);
        has_head = 1;
        kymo_str_puts(out, row->metric);
        if (row->labels[0])
            kymo_str_printf(out, "{%s}", row->labels);
        kymo_str_puts(out, " ");
        kymo_memory_put_fixed(out, f->value[i], digits[row->unit]);
        kymo_str_puts(out, "\n");
    }
    return i;
}

static void put_threads(kymo_str *out, const struct kymo_memory_threads *threads)
{
    static const char metric[] = "kymo_thread_cpu_seconds_total";
    if (threads->list.len)
        put_head(out, metric, "CPU time of each thread that lives.", 1);
    for (size_t i = 0; i < threads->list.len; i++) {
        const struct kymo_memory_thread *t = &threads->list.data[i];
        kymo_str_printf(out, "%s{tid=\"%" PRIu32 "\",name=", metric, t->tid);
        kymo_memory_put_quoted(out, t->name);
        kymo_str_puts(out, "} ");
        kymo_memory_put_fixed(out, t->cpu_ns < INT64_MAX ? (int64_t)t->cpu_ns : INT64_MAX, 9);
        kymo_str_puts(out, "\n");
    }
}

void kymo_memory_write_prometheus(kymo_str *out, const struct kymo_memory_view *v)
{
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT;)
        i = put_metric(out, &v->figures, i);
    put_threads(out, &v->threads);
}
