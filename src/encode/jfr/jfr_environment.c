/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_environment.c - what does not change: settings, machine, libraries, processes and threads,
 * and how far the recording is to be trusted. It begins the file.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "encode/jfr/jfr.h"

#define TEXT(field)                              \
    {                                            \
        .name = (field), .type = KYMO_JFR_STRING \
    }
#define NUMBER(field)                          \
    {                                          \
        .name = (field), .type = KYMO_JFR_LONG \
    }
#define SMALL(field)                          \
    {                                         \
        .name = (field), .type = KYMO_JFR_INT \
    }
#define SPAN(field)                                                   \
    {                                                                 \
        .name = (field), .type = KYMO_JFR_LONG, .note = KYMO_JFR_SPAN \
    }
#define ADDRESS(field)                                                   \
    {                                                                    \
        .name = (field), .type = KYMO_JFR_LONG, .note = KYMO_JFR_ADDRESS \
    }

KYMO_JFR_EVENT(active_setting, "jdk.ActiveSetting", KYMO_JFR_ACTIVE_SETTING, KYMO_JFR_START,
               NUMBER("id"), TEXT("name"), TEXT("value"));
KYMO_JFR_EVENT(cpu_information, "jdk.CPUInformation", KYMO_JFR_CPU_INFORMATION, KYMO_JFR_START,
               TEXT("cpu"), TEXT("description"), SMALL("sockets"), SMALL("cores"),
               SMALL("hwThreads"));
KYMO_JFR_EVENT(os_information, "jdk.OSInformation", KYMO_JFR_OS_INFORMATION, KYMO_JFR_START,
               TEXT("osVersion"));
KYMO_JFR_EVENT(native_library, "jdk.NativeLibrary", KYMO_JFR_NATIVE_LIBRARY, KYMO_JFR_START,
               TEXT("name"), ADDRESS("baseAddress"), ADDRESS("topAddress"));
KYMO_JFR_EVENT(build_id, "kymo.BuildId", KYMO_JFR_BUILD_ID, KYMO_JFR_START, TEXT("name"),
               TEXT("id"));
KYMO_JFR_EVENT(process_event, "kymo.Process", KYMO_JFR_PROCESS, KYMO_JFR_START, KYMO_JFR_DURATION,
               NUMBER("pid"), NUMBER("parent"), TEXT("name"), TEXT("command"));
KYMO_JFR_EVENT(thread_event, "kymo.Thread", KYMO_JFR_THREAD_EVENT, KYMO_JFR_START,
               KYMO_JFR_DURATION, KYMO_JFR_EVENT_THREAD, NUMBER("pid"), SPAN("cpuTime"));
KYMO_JFR_EVENT(quality_event, "kymo.Quality", KYMO_JFR_QUALITY, KYMO_JFR_START, TEXT("name"),
               {.name = "value", .type = KYMO_JFR_DOUBLE});
KYMO_JFR_EVENT(marker_loss, "kymo.MarkerLoss", KYMO_JFR_MARKER_LOSS, KYMO_JFR_START, TEXT("name"),
               NUMBER("lost"), NUMBER("aboveLimit"), NUMBER("textsCut"));

static size_t begin(kymo_jfr *w, const kymo_jfr_type *type)
{
    size_t at = kymo_jfr_begin(w, type);
    kymo_jfr_varint(&w->events, w->start_ns);
    return at;
}

static void number(kymo_jfr *w, uint64_t value)
{
    kymo_jfr_varint(&w->events, value);
}

static void text(kymo_jfr *w, const char *value)
{
    kymo_jfr_cstr(&w->events, value);
}

/* ---- settings and the machine ---- */

static void setting(kymo_jfr *w, const char *name, const char *value)
{
    if (!value)
        return;
    size_t at = begin(w, &active_setting);
    number(w, KYMO_JFR_EXECUTION_SAMPLE);
    text(w, name);
    text(w, value);
    kymo_jfr_end(w, at);
}

static void setting_number(kymo_jfr *w, const char *name, uint64_t value, const char *unit)
{
    char out[48];
    snprintf(out, sizeof out, "%llu %s", (unsigned long long)value, unit);
    if (value)
        setting(w, name, out);
}

/* Arguments one after the other, as `ps` shows them. */
static void join(kymo_str *out, const char *const *argv, uint32_t argc)
{
    for (uint32_t i = 0; i < argc; i++) {
        kymo_str_puts(out, i ? " " : "");
        kymo_str_puts(out, argv[i]);
    }
}

static kymo_err put_settings(kymo_jfr *w)
{
    const kymo_meta *m = &w->p->meta;
    kymo_str command = {0};
    join(&command, m->argv, m->argc);
    setting(w, "command", m->argc ? kymo_str_cstr(&command) : NULL);
    setting(w, "product", m->product);
    setting(w, "version", m->version);
    setting(w, "engine", m->engine);
    setting(w, "engineReason", m->engine_reason);
    setting(w, "hostname", m->hostname);
    setting(w, "arch", m->arch);
    setting_number(w, "memory", m->memory_bytes, "bytes");
    setting_number(w, "period", m->period_ns, "ns");
    setting_number(w, "wallPeriod", m->wall_period_ns, "ns");
    setting_number(w, "kernelTick", m->tick_ns, "ns");
    kymo_err err = command.failed ? KYMO_E_NOMEM : KYMO_OK;
    kymo_str_deinit(&command);
    return err;
}

static void put_machine(kymo_jfr *w)
{
    const kymo_meta *m = &w->p->meta;
    char system[256];
    size_t at = begin(w, &cpu_information);
    text(w, m->cpu_name);
    text(w, m->cpu_name);
    number(w, 0); /* sockets are not known */
    number(w, m->physical_cpus);
    number(w, m->logical_cpus);
    kymo_jfr_end(w, at);
    if (!m->os && !m->kernel)
        return;
    at = begin(w, &os_information);
    snprintf(system, sizeof system, "%s%s%s", m->os ? m->os : "", m->os && m->kernel ? ", " : "",
             m->kernel ? m->kernel : "");
    kymo_jfr_string(&w->events, system, kymo_utf8_valid_prefix(system, strlen(system)));
    kymo_jfr_end(w, at);
}

/* ---- libraries ---- */

static void put_build_id(kymo_jfr *w, const kymo_module *m)
{
    char hex[2 * KYMO_BUILD_ID_MAX + 1];
    for (uint32_t i = 0; i < m->build_id_len; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
    size_t at = begin(w, &build_id);
    text(w, m->path);
    text(w, hex);
    kymo_jfr_end(w, at);
}

/* Once for each mapping; a file has its build-id once. */
static void put_library(kymo_jfr *w, uint32_t id)
{
    const kymo_module *m = &w->p->modules.data[id];
    uint64_t load_ns = kymo_since_origin(w->p, m->load_ns);
    size_t at = kymo_jfr_begin(w, &native_library);
    number(w, load_ns > w->start_ns ? load_ns : w->start_ns);
    text(w, m->path);
    number(w, m->start);
    number(w, m->end);
    kymo_jfr_end(w, at);
    if (m->build_id_len && w->p->module_ids.data[id].file == id)
        put_build_id(w, m);
}

/* ---- processes and threads ---- */

/* start 0: before the recording; end 0: after it. */
static void put_life(kymo_jfr *w, uint64_t start, uint64_t end)
{
    uint64_t start_ns = kymo_since_origin(w->p, start);
    uint64_t end_ns = end ? kymo_since_origin(w->p, end) : w->end_ns;
    start_ns = start ? start_ns : w->start_ns;
    number(w, start_ns);
    number(w, end_ns > start_ns ? end_ns - start_ns : 0);
}

static kymo_err put_process(kymo_jfr *w, const kymo_process *p)
{
    kymo_str command = {0};
    join(&command, p->argv, p->argc);
    size_t at = kymo_jfr_begin(w, &process_event);
    put_life(w, p->start_ns, p->end_ns);
    number(w, (uint64_t)p->pid);
    number(w, (uint64_t)p->parent_pid);
    text(w, p->name);
    text(w, kymo_str_cstr(&command));
    kymo_jfr_end(w, at);
    kymo_err err = command.failed ? KYMO_E_NOMEM : KYMO_OK;
    kymo_str_deinit(&command);
    return err;
}

static void put_thread(kymo_jfr *w, uint32_t id)
{
    const kymo_thread *t = &w->p->threads.data[id];
    size_t at = kymo_jfr_begin(w, &thread_event);
    put_life(w, t->start_ns, t->end_ns);
    number(w, kymo_jfr_thread_key(&w->pools, id));
    number(w, (uint64_t)w->p->processes.data[t->process].pid);
    number(w, t->cpu_ns);
    kymo_jfr_end(w, at);
}

/* ---- quality ---- */

static void put_figure(kymo_jfr *w, const char *name, double value)
{
    if (isnan(value))
        return;
    size_t at = begin(w, &quality_event);
    text(w, name);
    kymo_jfr_double(&w->events, value);
    kymo_jfr_end(w, at);
}

/* What is 0 unless something is lost, or was not asked for. */
static void put_count(kymo_jfr *w, const char *name, uint64_t count)
{
    if (count)
        put_figure(w, name, (double)count);
}

static void put_losses(kymo_jfr *w, const kymo_quality *q)
{
    char name[256];
    for (uint32_t i = 0; i < q->lost_count; i++) {
        snprintf(name, sizeof name, "lost, %s", q->lost[i].kind);
        name[kymo_utf8_valid_prefix(name, strlen(name))] = '\0';
        put_count(w, name, q->lost[i].count);
    }
    for (size_t i = 0; i < w->p->marker_losses.len; i++) {
        const kymo_marker_losses *lost = &w->p->marker_losses.data[i];
        size_t at = begin(w, &marker_loss);
        kymo_jfr_put_string(w, lost->name);
        number(w, lost->lost);
        number(w, lost->capped);
        number(w, lost->cut);
        kymo_jfr_end(w, at);
    }
}

static void put_quality(kymo_jfr *w)
{
    const kymo_quality *q = &w->p->quality;
    put_figure(w, "samples", (double)q->samples);
    put_figure(w, "achieved", q->achieved);
    put_figure(w, "sampled rate", q->sampled_rate);
    put_figure(w, "stacks complete", q->stacks_complete);
    put_figure(w, "frames symbolized", q->frames_symbolized);
    put_figure(w, "wall time accounted for", q->wall_samples ? q->wall_achieved : (double)NAN);
    put_count(w, "wall samples", q->wall_samples);
    put_count(w, "wall samples without a stack", q->wall_stackless);
    put_count(w, "CPU time not sampled, ns", q->cpu_unsampled_ns);
    put_count(w, "system calls interrupted (EINTR)", q->disturbed);
    put_count(w, "time in handlers, ns", q->handler_ns);
    put_count(w, "newest bytes kept", q->ring_bytes);
    put_count(w, "dropped samples", q->dropped_samples);
    put_count(w, "dropped CPU time, ns", q->dropped_ns);
    put_count(w, "dropped wall samples", q->dropped_wall_samples);
    put_count(w, "dropped wall time, ns", q->dropped_wall_ns);
    put_count(w, "dropped markers", q->dropped_markers);
    put_count(w, "dropped values of counters", q->dropped_counts);
    put_count(w, "dropped call events", q->dropped_calls);
    put_losses(w, q);
}

kymo_err kymo_jfr_put_environment(kymo_jfr *w)
{
    KYMO_TRY(put_settings(w));
    put_machine(w);
    put_quality(w);
    for (size_t i = 0; i < w->p->processes.len; i++) {
        KYMO_TRY(put_process(w, &w->p->processes.data[i]));
        KYMO_TRY(kymo_jfr_pass_on(w, w->start_ns));
    }
    for (uint32_t i = 0; i < w->p->threads.len; i++) {
        put_thread(w, i);
        KYMO_TRY(kymo_jfr_pass_on(w, w->start_ns));
    }
    for (uint32_t i = 0; i < w->p->modules.len; i++) {
        put_library(w, i);
        KYMO_TRY(kymo_jfr_pass_on(w, w->start_ns));
    }
    return KYMO_OK;
}
