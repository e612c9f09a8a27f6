/* SPDX-License-Identifier: Apache-2.0 */
#include "base/search.h"
#include "base/str.h"
#include "encode/firefox/firefox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 66 is of July 2026. Newer front-ends upgrade it; later versions add nothing that is needed
 * here. The gecko version is not checked by front-ends. */
enum { PROCESSED_VERSION = 66, GECKO_VERSION = 24 };

/* With more tracks the viewer takes seconds to open; the user can enable the others in it. */
enum { VISIBLE_THREADS_MAX = 40, VISIBLE_TRACKS_MAX = 20 };

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

/* The viewer would hide idle threads. Here all are shown, or the busiest ones of very many, in
 * order of start; the busiest is selected. */
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
    kymo_json_key_array(j, "initialSelectedThreads");
    kymo_json_u64(j, list[0]);
    kymo_json_end_array(j);
    if (count > VISIBLE_THREADS_MAX)
        count = VISIBLE_THREADS_MAX;
    qsort(list, count, sizeof *list, kymo_compare_u32);
    kymo_json_key_array(j, "initialVisibleThreads");
    for (size_t i = 0; i < count; i++)
        kymo_json_u64(j, list[i]);
    for (size_t i = 0; i < w->marks.tracks.len && i < VISIBLE_TRACKS_MAX; i++)
        kymo_json_u64(j, w->p->thread_order.len + i);
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
    kymo_json_key_object(j, "sampleUnits");
    kymo_json_key_cstr(j, "time", "ms");
    kymo_json_key_cstr(j, "eventDelay", "ms");
    kymo_json_key_cstr(j, "threadCPUDelta", "ns");
    kymo_json_end_object(j);
}

/* With more than one kind of stack the viewer offers its switch between JavaScript and native code.
 */
static int has_scripts(const kymo_firefox *w)
{
    return memchr(w->is_script, 1, w->p->functions.len) != NULL;
}

void kymo_firefox_put_meta(kymo_firefox *w)
{
    kymo_json *j = w->json;
    const kymo_meta *meta = &w->p->meta;
    kymo_json_key_object(j, "meta");
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
    kymo_json_key_bool(j, "debug", 0);
    kymo_json_key_bool(j, "symbolicated", 1);
    kymo_json_key_bool(j, "usesOnlyOneStackType", !has_scripts(w));
    kymo_json_key_bool(j, "sourceCodeIsNotOnSearchfox", 1);
    kymo_json_key_bool(j, "keepProfileThreadOrder", 1);
    write_arguments(j, meta);
    write_system(j, meta);
    write_sample_units(j);
    kymo_firefox_put_categories(w);
    kymo_firefox_put_schemas(w);
    write_visible_threads(w);
    kymo_firefox_put_extra(w);
    kymo_json_end_object(j);
}
