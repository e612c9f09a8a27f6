/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "memory/write.h"

/* Of a group that has a known figure: its object. The cgroup says where it is, too. */
static void put_group(kymo_str *out, const struct kymo_memory_view *v, unsigned first, unsigned end)
{
    unsigned group = kymo_figure_rows[first].group;
    int is_open = 0;
    if (group == KYMO_GROUP_CGROUP && v->cgroup.version) {
        kymo_str_printf(
            out, ",\n  \"cgroup\": {\n    \"version\": %d,\n    \"path\": ", v->cgroup.version);
        kymo_memory_put_quoted(out, v->cgroup.path);
        is_open = 1;
    }
    for (unsigned i = first; i < end; i++) {
        const struct kymo_figure_row *row = &kymo_figure_rows[i];
        if (!v->figures.is_known[i])
            continue;
        if (is_open)
            kymo_str_puts(out, ",");
        else
            kymo_str_printf(out, ",\n  \"%s\": {", kymo_figure_group_names[group]);
        kymo_str_printf(out, "\n    \"%s\": ", row->name);
        kymo_memory_put_fixed(out, v->figures.value[i], row->unit == KYMO_FIGURE_PERCENT ? 2 : 0);
        is_open = 1;
    }
    if (is_open)
        kymo_str_puts(out, "\n  }");
}

static void put_threads(kymo_str *out, const struct kymo_memory_threads *threads)
{
    if (threads->list.len == 0)
        return;
    kymo_str_puts(out, ",\n  \"threads\": [");
    for (size_t i = 0; i < threads->list.len; i++) {
        const struct kymo_memory_thread *t = &threads->list.data[i];
        kymo_str_printf(out, "%s\n    {\"tid\": %" PRIu32 ", \"name\": ", i ? "," : "", t->tid);
        kymo_memory_put_quoted(out, t->name);
        kymo_str_printf(out, ", \"cpu_ns\": %" PRIu64 "}", t->cpu_ns);
    }
    kymo_str_puts(out, "\n  ]");
}

void kymo_memory_write_json(kymo_str *out, const struct kymo_memory_view *v)
{
    kymo_str_printf(out,
                    "{\n  \"version\": 1,\n  \"time_ms\": %" PRIu64 ",\n  \"pid\": %" PRIu32
                    ",\n  \"name\": ",
                    v->realtime_ms, v->pid);
    kymo_memory_put_quoted(out, v->name);
    for (unsigned first = 0, end; first < KYMO_FIGURE_COUNT; first = end) {
        for (end = first; end < KYMO_FIGURE_COUNT &&
                          kymo_figure_rows[end].group == kymo_figure_rows[first].group;)
            end++;
        put_group(out, v, first, end);
    }
    put_threads(out, &v->threads);
    kymo_str_puts(out, "\n}\n");
}
