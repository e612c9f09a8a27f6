/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pull_text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/pull_request.h"
#include "kymo/memory.h"
#include "memory/write.h"
#include "sys/proc_file.h"

#define CMDLINE_MAX 65536u

/* ---- what the recorder costs ---- */

struct cost {
    uint64_t cpu_ns; /* with its processes that have ended */
    uint64_t rss_bytes;
};

static struct cost cost_of(pid_t pid)
{
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char text[1024];
    struct cost cost = {0, 0};
    uint64_t sum = 0;
    uint64_t value;
    if (kymo_proc_file_read(text, sizeof text, "/proc/%d/stat", (int)pid) == 0)
        return cost;
    for (unsigned field = 14; field <= 17; field++)
        if (kymo_proc_stat_field(text, field, &value))
            sum += value;
    cost.cpu_ns = sum * (1000000000 / ticks);
    if (kymo_proc_stat_field(text, 24, &value))
        cost.rss_bytes = value * page;
    return cost;
}

/* ---- Prometheus ---- */

static void put_head(kymo_str *out, const char *name, const char *type, const char *help)
{
    kymo_str_printf(out, "# HELP kymo_agent_%s %s\n# TYPE kymo_agent_%s %s\n", name, help, name,
                    type);
}

static void put_counter(kymo_str *out, const char *name, const char *help, uint64_t value)
{
    put_head(out, name, "counter", help);
    kymo_str_printf(out, "kymo_agent_%s %" PRIu64 "\n", name, value);
}

static void put_seconds(kymo_str *out, const char *name, const char *type, const char *help,
                        uint64_t ns)
{
    put_head(out, name, type, help);
    kymo_str_printf(out, "kymo_agent_%s ", name);
    kymo_memory_put_fixed(out, ns < INT64_MAX ? (int64_t)ns : INT64_MAX, 9);
    kymo_str_puts(out, "\n");
}

/* One figure of each reporter; at: its place in a kymo_pull_reporter. */
static void put_reporters(kymo_str *out, const struct kymo_pull_work *work,
                          const struct kymo_pull_figures *f, const char *name, const char *type,
                          const char *help, size_t at)
{
    const struct kymo_agent_settings *settings = work->settings;
    if (settings->n_reporters)
        put_head(out, name, type, help);
    for (uint32_t i = 0; i < settings->n_reporters; i++) {
        const char *prefix = settings->reporters[i].kind->prefix;
        uint64_t value;
        memcpy(&value, (const char *)&f->reporters[i] + at, sizeof value);
        kymo_str_printf(out, "kymo_agent_%s{reporter=\"%u\",kind=\"%.*s\"} ", name, i + 1,
                        (int)strcspn(prefix, ":"), prefix);
        kymo_memory_put_fixed(out, (int64_t)value,
                              at == offsetof(struct kymo_pull_reporter, last_ns) ? 9 : 0);
        kymo_str_puts(out, "\n");
    }
}

static void put_program(kymo_str *out, pid_t program)
{
    char process[16];
    struct kymo_memory_view *view = calloc(1, sizeof *view);
    if (!view) {
        out->failed = 1;
        return;
    }
    snprintf(process, sizeof process, "%d", (int)program);
    /* What cannot be read, since the program has just ended, is not there. */
    (void)!kymo_memory_view_read(view, process,
                                 KYMO_MEMORY_PROCESS | KYMO_MEMORY_CGROUP | KYMO_MEMORY_PRESSURE);
    kymo_memory_write_prometheus(out, view);
    kymo_memory_threads_deinit(&view->threads);
    free(view);
}

void kymo_pull_write_metrics(kymo_str *out, const struct kymo_pull_work *work,
                             const struct kymo_pull_figures *f)
{
    const struct cost cost = cost_of(work->recorder);
    if (f->program)
        put_program(out, f->program);
    put_head(out, "info", "gauge", "The version of the agent.");
    kymo_str_printf(out, "kymo_agent_info{version=\"%s\"} 1\n", KYMO_VERSION);
    put_counter(out, "intervals_total", "Intervals of the recording that have ended.",
                f->intervals);
    put_counter(out, "intervals_empty_total", "Intervals in which nothing happened.", f->empty);
    put_counter(out, "intervals_broken_total", "Intervals that were cut, or not encoded.",
                f->broken);
    put_head(out, "intervals_waiting", "gauge", "Intervals that are not encoded yet.");
    kymo_str_printf(out, "kymo_agent_intervals_waiting %" PRIu64 "\n", f->waiting);
    put_counter(out, "samples_total", "Samples in intervals that have ended.", f->samples);
    put_counter(out, "lost_records_total", "Records that were lost in them.", f->lost_records);
    put_reporters(out, work, f, "profiles_delivered_total", "counter", "Profiles delivered.",
                  offsetof(struct kymo_pull_reporter, delivered));
    put_reporters(out, work, f, "delivery_failures_total", "counter", "Deliveries that failed.",
                  offsetof(struct kymo_pull_reporter, failures));
    put_reporters(out, work, f, "profiles_dropped_total", "counter", "Profiles that were dropped.",
                  offsetof(struct kymo_pull_reporter, dropped));
    put_reporters(out, work, f, "last_delivery_timestamp_seconds", "gauge",
                  "When the last profile was delivered, 0 for never.",
                  offsetof(struct kymo_pull_reporter, last_ns));
    put_seconds(out, "handler_seconds_total", "counter",
                "Time in signal handlers of the program, in intervals that have ended.",
                f->handler_ns);
    put_seconds(out, "recorder_cpu_seconds_total", "counter",
                "CPU time of the recorder and of its processes that have ended.", cost.cpu_ns);
    put_head(out, "recorder_resident_memory_bytes", "gauge", "Resident memory of the recorder.");
    kymo_str_printf(out, "kymo_agent_recorder_resident_memory_bytes %" PRIu64 "\n", cost.rss_bytes);
    put_counter(out, "server_starts_total", "How often this server was started.", f->server_starts);
}

/* ---- others ---- */

void kymo_pull_write_index(kymo_str *out, const struct kymo_pull_work *work)
{
    kymo_str_printf(out, "Profiles of %s by kymo %s\n\n", work->executable, KYMO_VERSION);
    for (const struct kymo_pull_path *row = kymo_pull_paths; row->path; row++)
        kymo_str_printf(out, "%-22s %s\n", row->path, row->help);
}

void kymo_pull_write_cmdline(kymo_str *out, const struct kymo_pull_work *work,
                             const struct kymo_pull_figures *f)
{
    char *text = malloc(CMDLINE_MAX);
    size_t len = 0;
    if (text && f->program)
        len = kymo_proc_file_read(text, CMDLINE_MAX, "/proc/%d/cmdline", (int)f->program);
    if (len > 0 && text[len - 1] == '\0')
        len--;
    if (len > 0)
        kymo_str_append(out, text, len);
    for (size_t i = 0; len == 0 && work->argv[i]; i++)
        kymo_str_append(out, work->argv[i], strlen(work->argv[i]) + (work->argv[i + 1] != NULL));
    free(text);
}
