/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "encode/firefox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 66 of July 2026: newer front-ends upgrade it, and what came later adds nothing that is needed
 * here. The gecko version beside it is not looked at. */
enum { PROCESSED_VERSION = 66, GECKO_VERSION = 24 };

/* With more tracks than this, the viewer takes seconds to open; the others can be switched on in
 * it. */
enum { VISIBLE_THREADS_MAX = 40 };

/* In the order of kymo_category, without AUTO. The viewer's default is the first grey one. */
static const struct {
    const char *name;
    const char *color;
} categories[KYMO_CATEGORY_COUNT - 1] = {
    [KYMO_CATEGORY_OTHER - 1] = {"Other", "grey"},
    [KYMO_CATEGORY_PROGRAM - 1] = {"Program", "green"},
    [KYMO_CATEGORY_LIBRARY - 1] = {"Library", "blue"},
    [KYMO_CATEGORY_LIBC - 1] = {"C library", "lightblue"},
    [KYMO_CATEGORY_GENERATED - 1] = {"Generated code", "purple"},
    [KYMO_CATEGORY_KERNEL - 1] = {"Kernel", "orange"},
    [KYMO_CATEGORY_WAITING - 1] = {"Waiting", "transparent"}, /* drawn as idle */
    [KYMO_CATEGORY_JIT - 1] = {"JIT", "yellow"},
};

static void write_categories(kymo_json *j)
{
    kymo_json_key(j, "categories");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(categories); i++) {
        kymo_json_begin_object(j);
        kymo_json_key_cstr(j, "name", categories[i].name);
        kymo_json_key_cstr(j, "color", categories[i].color);
        kymo_json_key(j, "subcategories");
        kymo_json_begin_array(j);
        kymo_json_cstr(j, "Other");
        kymo_json_end_array(j);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

/* ---- "extra": shown under Profile Info ---- */

static void begin_entry(kymo_json *j, const char *label, const char *format)
{
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "label", label);
    kymo_json_key_cstr(j, "format", format);
    kymo_json_key(j, "value");
}

static void text_entry(kymo_json *j, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    begin_entry(j, label, "string");
    kymo_json_cstr(j, text);
    kymo_json_end_object(j);
}

static void count_entry(kymo_json *j, const char *label, uint64_t count)
{
    begin_entry(j, label, "integer");
    kymo_json_u64(j, count);
    kymo_json_end_object(j);
}

static void time_entry(kymo_json *j, const char *label, uint64_t ns)
{
    begin_entry(j, label, "duration");
    kymo_json_ms(j, ns);
    kymo_json_end_object(j);
}

static void ratio_entry(kymo_json *j, const char *label, double ratio)
{
    if (isnan(ratio))
        return;
    double bounded = ratio < 0 ? 0 : ratio > 1000 ? 1000 : ratio;
    begin_entry(j, label, "percentage");
    kymo_json_fixed(j, (uint64_t)(bounded * 1e6 + 0.5), 6);
    kymo_json_end_object(j);
}

static void begin_section(kymo_json *j, const char *label)
{
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "label", label);
    kymo_json_key(j, "entries");
    kymo_json_begin_array(j);
}

static void end_section(kymo_json *j)
{
    kymo_json_end_array(j);
    kymo_json_end_object(j);
}

static void write_extra(kymo_json *j, const kymo_meta *meta, const kymo_quality *q)
{
    char text[64];
    kymo_json_key(j, "extra");
    kymo_json_begin_array(j);
    begin_section(j, "Recording");
    snprintf(text, sizeof text, "kymo %.50s", meta->version ? meta->version : "");
    text_entry(j, "Recorded by", text);
    text_entry(j, "Engine", meta->engine);
    text_entry(j, "Host", meta->hostname);
    text_entry(j, "System", meta->os);
    text_entry(j, "Kernel", meta->kernel);
    end_section(j);
    begin_section(j, "Quality");
    count_entry(j, "Samples", q->samples);
    ratio_entry(j, "Weights of CPU time", q->achieved);
    ratio_entry(j, "Distinct samples of those asked for", q->sampled_rate);
    if (meta->wall_period_ns)
        ratio_entry(j, "Wall time accounted for", q->wall_achieved);
    ratio_entry(j, "Complete stacks", q->stacks_complete);
    ratio_entry(j, "Symbolized frames", q->frames_symbolized);
    time_entry(j, "CPU time not sampled", q->cpu_unsampled_ns);
    count_entry(j, "System calls disturbed", q->disturbed);
    time_entry(j, "Time in handlers", q->handler_ns);
    for (uint32_t i = 0; i < q->lost_count; i++) {
        char label[96];
        size_t len = kymo_utf8_copy(text, sizeof text, q->lost[i].kind, strlen(q->lost[i].kind));
        snprintf(label, sizeof label, "Lost: %.*s", (int)len, text);
        count_entry(j, label, q->lost[i].count);
    }
    end_section(j);
    kymo_json_end_array(j);
}

/* ---- threads to show first ---- */

static int compare_weights(const void *a, const void *b, void *firefox)
{
    const kymo_firefox *w = firefox;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    uint64_t wx = w->thread_weight[w->p->thread_order.data[x]];
    uint64_t wy = w->thread_weight[w->p->thread_order.data[y]];
    return wx != wy ? (wx < wy ? 1 : -1) : (x > y) - (x < y);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The viewer would hide idle threads; here all are shown, or the busiest of very many, in
 * start order, and the busiest is selected. */
static void write_visible_threads(kymo_firefox *w)
{
    kymo_json *j = w->json;
    size_t count = w->p->thread_order.len;
    uint32_t *list = malloc((count + 1) * sizeof *list);
    if (count == 0 || !list) {
        if (!list)
            j->err = KYMO_E_NOMEM;
        free(list);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
    qsort_r(list, count, sizeof *list, compare_weights, w);
    kymo_json_key(j, "initialSelectedThreads");
    kymo_json_begin_array(j);
    kymo_json_u64(j, list[0]);
    kymo_json_end_array(j);
    if (count > VISIBLE_THREADS_MAX)
        count = VISIBLE_THREADS_MAX;
    qsort(list, count, sizeof *list, compare_ids);
    kymo_json_key(j, "initialVisibleThreads");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < count; i++)
        kymo_json_u64(j, list[i]);
    kymo_json_end_array(j);
    free(list);
}

/* ---- meta ---- */

static void write_arguments(kymo_json *j, const kymo_meta *meta)
{
    if (meta->argc == 0)
        return;
    kymo_json_key(j, "arguments");
    kymo_json_string_begin(j);
    for (uint32_t i = 0; i < meta->argc; i++) {
        if (i > 0)
            kymo_json_string_part(j, " ", 1);
        kymo_json_string_part(j, meta->argv[i], strlen(meta->argv[i]));
    }
    kymo_json_string_end(j);
}

static void key_text(kymo_json *j, const char *key, const char *text)
{
    if (text && *text)
        kymo_json_key_cstr(j, key, text);
}

static void key_number(kymo_json *j, const char *key, uint64_t number)
{
    if (number)
        kymo_json_key_u64(j, key, number);
}

static void key_ms(kymo_json *j, const char *key, uint64_t ns)
{
    kymo_json_key(j, key);
    kymo_json_ms(j, ns);
}

static void write_system(kymo_json *j, const kymo_meta *meta)
{
    char oscpu[160];
    int n = snprintf(oscpu, sizeof oscpu, "%s%s%s", meta->kernel ? meta->kernel : "Linux",
                     meta->arch ? " " : "", meta->arch ? meta->arch : "");
    kymo_json_key(j, "oscpu");
    kymo_json_string(
        j, oscpu,
        kymo_utf8_valid_prefix(oscpu, n < (int)sizeof oscpu ? (size_t)n : sizeof oscpu - 1));
    key_text(j, "platform", meta->os ? meta->os : "Linux");
    key_text(j, "abi", meta->arch);
    key_text(j, "CPUName", meta->cpu_name);
    key_number(j, "physicalCPUs", meta->physical_cpus);
    key_number(j, "logicalCPUs", meta->logical_cpus);
    key_number(j, "mainMemory", meta->memory_bytes);
}

static void write_sample_units(kymo_json *j)
{
    kymo_json_key(j, "sampleUnits");
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "time", "ms");
    kymo_json_key_cstr(j, "eventDelay", "ms");
    kymo_json_key_cstr(j, "threadCPUDelta", "ns");
    kymo_json_end_object(j);
}

void kymo_firefox_meta(kymo_firefox *w)
{
    kymo_json *j = w->json;
    const kymo_meta *meta = &w->p->meta;
    kymo_json_key(j, "meta");
    kymo_json_begin_object(j);
    kymo_json_key_u64(j, "version", GECKO_VERSION);
    kymo_json_key_u64(j, "preprocessedProfileVersion", PROCESSED_VERSION);
    key_ms(j, "interval", meta->period_ns ? meta->period_ns : 1000000);
    key_ms(j, "startTime", meta->origin_realtime_ns);
    kymo_json_key_u64(j, "startTimeAsClockMonotonicNanosecondsSinceBoot",
                      meta->origin_monotonic_ns);
    key_ms(j, "profilingStartTime", w->start_ns);
    key_ms(j, "profilingEndTime", w->end_ns);
    kymo_json_key_u64(j, "processType", 0);
    kymo_json_key_cstr(j, "product", meta->product && *meta->product ? meta->product : "Kymo");
    kymo_json_key_u64(j, "stackwalk", 1);
    kymo_json_key(j, "debug");
    kymo_json_bool(j, 0);
    kymo_json_key(j, "symbolicated");
    kymo_json_bool(j, 1);
    kymo_json_key(j, "usesOnlyOneStackType");
    kymo_json_bool(j, 1);
    kymo_json_key(j, "sourceCodeIsNotOnSearchfox");
    kymo_json_bool(j, 1);
    kymo_json_key(j, "keepProfileThreadOrder");
    kymo_json_bool(j, 1);
    write_arguments(j, meta);
    write_system(j, meta);
    write_sample_units(j);
    write_categories(j);
    kymo_json_key(j, "markerSchema");
    kymo_json_begin_array(j);
    kymo_json_end_array(j);
    write_visible_threads(w);
    write_extra(j, meta, &w->p->quality);
    kymo_json_end_object(j);
}
