/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_json.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"

/* Six digits; null if it does not apply. A ratio may exceed 1: a sum of weights may be a little
 * more than the CPU clock. */
static void key_ratio(kymo_json *j, const char *name, double ratio)
{
    kymo_json_key(j, name);
    if (isnan(ratio) || ratio < 0 || ratio > 1e9)
        kymo_json_null(j);
    else
        kymo_json_fixed(j, (uint64_t)llround(ratio * 1e6), 6);
}

void kymo_report_json_seconds(kymo_json *j, const char *name, uint64_t ns)
{
    kymo_json_key(j, name);
    kymo_json_fixed(j, ns, 9);
}

static void key_command(kymo_json *j, uint32_t argc, const char *const *argv)
{
    kymo_json_key_array(j, "command");
    for (uint32_t i = 0; i < argc; i++)
        kymo_json_cstr(j, argv[i]);
    kymo_json_end_array(j);
}

/* Kinds come from the recording, which may be hostile: only plain text becomes a key. */
static void write_lost(kymo_json *j, const kymo_quality *q)
{
    kymo_json_key_object(j, "lost");
    for (uint32_t i = 0; i < q->lost_count; i++) {
        char kind[64];
        size_t n = 0;
        for (const char *c = q->lost[i].kind; *c && n + 1 < sizeof kind; c++)
            kind[n++] = *c == '"' || *c == '\\' || *c < ' ' || *c > '~' ? '_' : *c;
        kind[n] = '\0';
        kymo_json_key_u64(j, kind, q->lost[i].count);
    }
    kymo_json_end_object(j);
}

static void write_ring(kymo_json *j, const kymo_quality *q)
{
    kymo_json_key_object(j, "ring");
    kymo_json_key_u64(j, "bytes", q->ring_bytes);
    kymo_json_key_u64(j, "dropped_samples", q->dropped_samples);
    kymo_report_json_seconds(j, "dropped_cpu_s", q->dropped_ns);
    kymo_json_key_u64(j, "dropped_wall_samples", q->dropped_wall_samples);
    kymo_report_json_seconds(j, "dropped_wall_s", q->dropped_wall_ns);
    kymo_json_key_u64(j, "dropped_markers", q->dropped_markers);
    kymo_json_key_u64(j, "dropped_counter_values", q->dropped_counts);
    kymo_json_key_u64(j, "dropped_call_events", q->dropped_calls);
    kymo_json_end_object(j);
}

static void write_quality(kymo_json *j, const kymo_profile *profile)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    const kymo_quality *q = kymo_profile_quality(profile);
    kymo_json_key_object(j, "quality");
    kymo_report_json_text(j, "engine", meta->engine);
    kymo_json_key_u64(j, "period_ns", meta->period_ns);
    if (meta->wall_period_ns) {
        kymo_json_key_u64(j, "wall_period_ns", meta->wall_period_ns);
        kymo_json_key_u64(j, "wall_samples", q->wall_samples);
        kymo_json_key_u64(j, "wall_stackless", q->wall_stackless);
        key_ratio(j, "wall_achieved", q->wall_achieved);
    }
    kymo_json_key_u64(j, "samples", q->samples);
    key_ratio(j, "achieved", q->achieved);
    key_ratio(j, "sampled_rate", q->sampled_rate);
    key_ratio(j, "stacks_complete", q->stacks_complete);
    key_ratio(j, "frames_symbolized", q->frames_symbolized);
    if (q->python_samples)
        kymo_json_key_u64(j, "python_samples", q->python_samples);
    if (q->copied_samples)
        kymo_json_key_u64(j, "copied_samples", q->copied_samples);
    kymo_report_json_seconds(j, "cpu_unsampled_s", q->cpu_unsampled_ns);
    if (q->startup_ns)
        kymo_report_json_seconds(j, "cpu_startup_s", q->startup_ns);
    kymo_json_key_u64(j, "disturbed", q->disturbed);
    write_lost(j, q);
    if (q->ring_bytes)
        write_ring(j, q);
    kymo_json_key_u64(j, "handler_ns", q->handler_ns);
    kymo_json_end_object(j);
}

static void write_processes(kymo_json *j, const kymo_profile *profile)
{
    kymo_json_key_array(j, "processes");
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_process *p = kymo_profile_process(profile, i);
        kymo_json_begin_object(j);
        kymo_json_key_i64(j, "pid", p->pid);
        kymo_report_json_text(j, "name", p->name);
        key_command(j, p->argc, p->argv);
        kymo_report_json_seconds(j, "cpu_s", p->cpu_ns);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

static void write_threads(kymo_json *j, const kymo_profile *profile, const kymo_report *report)
{
    size_t n;
    const kymo_report_thread *threads = kymo_report_threads(report, &n);
    kymo_json_key_array(j, "threads");
    for (size_t i = 0; i < n; i++) {
        const kymo_thread *t = kymo_profile_thread(profile, threads[i].thread);
        kymo_json_begin_object(j);
        kymo_json_key_i64(j, "pid", kymo_profile_process(profile, t->process)->pid);
        kymo_json_key_i64(j, "tid", t->tid);
        kymo_report_json_text(j, "name", t->name);
        kymo_report_json_seconds(j, "cpu_s", t->cpu_ns);
        if (t->dropped_ns)
            kymo_report_json_seconds(j, "dropped_s", t->dropped_ns);
        kymo_json_key_u64(j, "samples", threads[i].samples);
        key_ratio(j, "achieved", threads[i].achieved);
        key_ratio(j, "sampled_rate", threads[i].sampled_rate);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

/* CPU time by process name: together with "unsampled_s" this is all CPU time. */
static void write_process_names(kymo_json *j, const kymo_report *report)
{
    size_t n;
    const kymo_report_process *rows = kymo_report_processes(report, &n);
    kymo_json_key_array(j, "process_names");
    for (size_t i = 0; i < n; i++) {
        kymo_json_begin_object(j);
        kymo_report_json_text(j, "name", rows[i].name);
        kymo_json_key_u64(j, "processes", rows[i].processes);
        kymo_json_key_u64(j, "without_samples", rows[i].without_samples);
        kymo_report_json_seconds(j, "cpu_s", rows[i].cpu_ns);
        kymo_report_json_seconds(j, "unsampled_s", rows[i].unsampled_ns);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

/* From the start of the program to the end of the recording, or to the last sample. */
static uint64_t duration_ns(const kymo_profile *profile)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    uint64_t end_ns = meta->end_ns;
    for (uint32_t t = 0; end_ns == 0 && t < kymo_profile_count(profile, KYMO_TABLE_THREADS); t++) {
        kymo_samples s = kymo_profile_samples(profile, t);
        for (size_t i = 0; i < s.count; i++)
            if (s.time_ns[i] > end_ns)
                end_ns = s.time_ns[i];
    }
    return end_ns > meta->origin_monotonic_ns ? end_ns - meta->origin_monotonic_ns : 0;
}

void kymo_report_json_text(kymo_json *j, const char *key, const char *text)
{
    kymo_json_key(j, key);
    if (text && *text)
        kymo_json_cstr(j, text);
    else
        kymo_json_null(j);
}

/* Integer bytes or nanoseconds, also for estimates, which are not exact to the byte. */
void kymo_report_json_whole(kymo_json *j, const char *key, double value)
{
    kymo_json_key(j, key);
    double size = fabs(value) < 0x1p62 ? value : copysign(0x1p62, value);
    kymo_json_i64(j, (int64_t)llround(size));
}

/* Since the recording's start; null for the end. */
void kymo_report_json_moment(kymo_json *j, const char *key, const kymo_profile *profile,
                             uint64_t at_ns)
{
    uint64_t origin_ns = kymo_profile_meta(profile)->origin_monotonic_ns;
    kymo_json_key(j, key);
    if (at_ns == KYMO_HEAP_END)
        kymo_json_null(j);
    else
        kymo_json_fixed(j, at_ns > origin_ns ? at_ns - origin_ns : 0, 9);
}

static void write_heap(kymo_json *j, const kymo_profile *profile, uint32_t process)
{
    const kymo_heap *heap = kymo_profile_heap(profile, process);
    if (!heap)
        return;
    kymo_json_begin_object(j);
    kymo_json_key_i64(j, "pid", kymo_profile_process(profile, process)->pid);
    kymo_json_key_u64(j, "rate", heap->rate);
    kymo_json_key_u64(j, "count", heap->count);
    kymo_json_key_u64(j, "bytes", heap->bytes);
    kymo_json_key_u64(j, "lost", heap->lost);
    kymo_json_key_u64(j, "lost_frees", heap->lost_frees);
    kymo_json_key_bool(j, "partial", heap->is_partial != 0);
    kymo_report_json_text(j, "allocator", kymo_profile_string(profile, heap->allocator));
    kymo_report_json_text(j, "not_seen", kymo_profile_string(profile, heap->not_seen));
    kymo_json_end_object(j);
}

void kymo_report_json_heaps(kymo_json *j, const kymo_profile *profile)
{
    kymo_json_key_array(j, "heaps");
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        write_heap(j, profile, i);
    kymo_json_end_array(j);
}

kymo_json *kymo_report_json_begin(const kymo_profile *profile,
                                  const kymo_report_selection *selection, const kymo_report *report,
                                  const char *by, const char *mode, kymo_sink *sink)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return NULL;
    kymo_json_init(j, sink);
    kymo_json_begin_object(j);
    kymo_json_key_u64(j, "format", 1);
    key_command(j, meta->argc, meta->argv);
    kymo_report_json_seconds(j, "duration_s", duration_ns(selection ? selection->whole : profile));
    write_quality(j, selection ? selection->whole : profile);
    write_processes(j, profile);
    write_threads(j, profile, report);
    write_process_names(j, report);
    kymo_json_key_cstr(j, "mode", mode);
    kymo_json_key_cstr(j, "by", by);
    if (selection)
        kymo_report_json_selection(j, "selection", selection);
    return j;
}

kymo_err kymo_report_json_end(kymo_json *j, kymo_sink *sink)
{
    kymo_json_end_object(j);
    kymo_err err = kymo_json_finish(j);
    free(j);
    return err == KYMO_OK ? kymo_sink_write(sink, "\n", 1) : err;
}
