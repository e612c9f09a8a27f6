/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_counters.c - counters, each as a track of its process.
 *
 * The format has changes instead of values; the viewer adds them up. This also holds for gauges.
 * The viewer takes the change in the first row as 0, so there is a row of 0 before the first value.
 * It draws up to the last row, so the last value is repeated at the end of the process. Percentages
 * are fractions of 1. Without the key "display" the viewer fails to load the file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/f64.h"
#include "encode/firefox/firefox_heap.h"
#include "encode/json_table.h"

static void put_tooltip(kymo_json *j, const char *source, const char *unit, const char *label)
{
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "type", "value");
    kymo_json_key_cstr(j, "source", source);
    kymo_json_key_object(j, "format");
    kymo_json_key_cstr(j, "unit", unit);
    kymo_json_end_object(j);
    kymo_json_key_cstr(j, "label", label);
    if (strcmp(source, "selection-total") == 0)
        kymo_json_key_bool(j, "requiresPreviewSelection", 1);
    kymo_json_end_object(j);
}

static void put_tooltips(kymo_json *j, const kymo_firefox_counter *c, const char *unit)
{
    int is_bytes = strcmp(unit, "bytes") == 0;
    kymo_json_key_array(j, "tooltipRows");
    if (c->flags & KYMO_COUNTER_RATE) {
        /* For other units the viewer shows a rate per millisecond, rounded to an integer. */
        if (c->is_cpu)
            put_tooltip(j, "rate", "percent", "CPU");
        if (is_bytes)
            put_tooltip(j, "rate", "bytes-per-second", "rate");
        if (!c->is_cpu)
            put_tooltip(j, "count", unit, "change since the row before");
        if (!c->is_cpu)
            put_tooltip(j, "selection-total", unit, "in the selection");
    } else {
        put_tooltip(j, "accumulated", unit, "value");
        put_tooltip(j, "count-range", unit, "range in the graph");
    }
    if (c->has_operations)
        put_tooltip(j, "sample-number", "number", "operations since the row before");
    kymo_json_end_array(j);
}

static void put_display(kymo_json *j, const kymo_firefox_counter *c)
{
    int is_bytes = strcmp(c->unit, "bytes") == 0;
    int is_percent = strcmp(c->unit, "percent") == 0;
    kymo_json_key_object(j, "display");
    kymo_json_key_cstr(j, "graphType",
                       c->flags & KYMO_COUNTER_RATE ? "line-rate" : "line-accumulated");
    kymo_json_key_cstr(j, "unit", c->unit);
    kymo_json_key_cstr(j, "color", kymo_firefox_graph_color(c->color));
    kymo_json_key(j, "markerSchemaLocation");
    if (is_bytes && !(c->flags & KYMO_COUNTER_RATE))
        kymo_json_cstr(j, "timeline-memory");
    else
        kymo_json_null(j);
    kymo_json_key_u64(j, "sortWeight", c->order);
    kymo_json_key_cstr(j, "label", c->label ? c->label : c->name);
    put_tooltips(j, c, is_bytes ? "bytes" : is_percent ? "percent" : "number");
    kymo_json_end_object(j);
}

void kymo_firefox_begin_counter(kymo_firefox *w, const kymo_firefox_counter *c,
                                uint32_t main_thread)
{
    kymo_json *j = w->json;
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "name", c->name);
    kymo_json_key_cstr(j, "category", c->category);
    kymo_json_key_cstr(j, "description", c->description);
    kymo_firefox_key_pid(w, c->process);
    kymo_json_key_u64(j, "mainThreadIndex", main_thread);
    put_display(j, c);
}

/* The rows of a counter: those of the profile, one before and one after. */
struct rows {
    kymo_counts counts;
    uint64_t front_ns; /* since the profile's zero, as end_ns */
    uint64_t end_ns;
    uint32_t has_front;
    uint32_t has_end;
    uint32_t count;  /* number of rows */
    unsigned digits; /* digits after the decimal point */
    int is_f64;
};

/* A total was 0 when its process began. The value of a gauge before its first row is not known.
 * A rate applies to the time before its row. A rate that the system reports ends with its last
 * row. */
static struct rows rows_of(const kymo_firefox *w, const kymo_counter *c, kymo_counts counts)
{
    const kymo_process *p = &w->p->processes.data[c->process];
    uint64_t first = kymo_since_origin(w->p, counts.time_ns[0]);
    uint64_t last = kymo_since_origin(w->p, counts.time_ns[counts.count - 1]);
    uint64_t start = kymo_since_origin(w->p, p->start_ns);
    uint64_t end = p->end_ns ? kymo_since_origin(w->p, p->end_ns) : w->end_ns;
    int is_rate = (c->flags & KYMO_COUNTER_RATE) != 0;
    start = start > w->start_ns ? start : w->start_ns;
    end = end < w->end_ns ? end : w->end_ns;
    struct rows rows = {.counts = counts, .front_ns = first, .end_ns = end};
    if (start < first && (is_rate || c->kind != KYMO_COUNTER_GAUGE))
        rows.front_ns = start;
    rows.has_front =
        (counts.value[0] != 0 || counts.operations[0] != 0) && (!is_rate || rows.front_ns < first);
    rows.has_end = last < end && !(is_rate && c->flags & KYMO_COUNTER_SYSTEM);
    rows.count = rows.has_front + counts.count + rows.has_end;
    rows.is_f64 = (c->flags & KYMO_COUNTER_IS_F64) != 0;
    rows.digits = strcmp(kymo_profile_string(w->p, c->unit), "percent") == 0 ? 2 : 0;
    return rows;
}

static uint64_t time_of(const kymo_firefox *w, const struct rows *rows, uint32_t i)
{
    if (i < rows->has_front)
        return rows->front_ns;
    i -= rows->has_front;
    return i < rows->counts.count ? kymo_since_origin(w->p, rows->counts.time_ns[i]) : rows->end_ns;
}

/* The difference of two values may be larger than either. */
static void put_change(kymo_json *j, const struct rows *rows, uint32_t i)
{
    const kymo_counts *c = &rows->counts;
    uint32_t at = i - rows->has_front;
    if (i == 0 || at >= c->count) {
        kymo_json_u64(j, 0);
        return;
    }
    int64_t before = at ? c->value[at - 1] : 0;
    int64_t now = c->value[at];
    if (rows->is_f64) {
        double by = kymo_f64_of(now) - kymo_f64_of(before);
        kymo_json_f64(j, isfinite(by) ? rows->digits ? by / 100 : by : 0);
        return;
    }
    int is_negative = now < before;
    uint64_t change =
        is_negative ? (uint64_t)before - (uint64_t)now : (uint64_t)now - (uint64_t)before;
    kymo_json_signed_fixed(j, is_negative, change, rows->digits);
}

static void put_operations(kymo_json *j, const struct rows *rows, uint32_t i)
{
    const kymo_counts *c = &rows->counts;
    uint32_t at = i - rows->has_front;
    uint64_t before = at && at < c->count ? c->operations[at - 1] : 0;
    uint64_t now = i && at < c->count ? c->operations[at] : 0;
    kymo_json_u64(j, now > before ? now - before : 0);
}

static int has_operations(kymo_counts c)
{
    for (uint32_t i = 0; i < c.count; i++)
        if (c.operations[i])
            return 1;
    return 0;
}

static kymo_err put_samples(kymo_firefox *w, const struct rows *rows, int operations)
{
    kymo_json *j = w->json;
    kymo_json_key_object(j, "samples");
    KYMO_JSON_COLUMN(j, "time", i, rows->count, kymo_json_ms(j, time_of(w, rows, i)));
    KYMO_TRY(kymo_encoder_step(w->encoder, rows->count));
    KYMO_JSON_COLUMN(j, "count", i, rows->count, put_change(j, rows, i));
    KYMO_TRY(kymo_encoder_step(w->encoder, rows->count));
    if (operations) {
        KYMO_JSON_COLUMN(j, "number", i, rows->count, put_operations(j, rows, i));
    }
    kymo_json_end_table(j, rows->count);
    return kymo_encoder_step(w->encoder, rows->count);
}

static kymo_err put_counter(kymo_firefox *w, uint32_t id, const uint32_t *main_thread)
{
    const kymo_counter *c = kymo_profile_counter(w->p, id);
    const kymo_marker_category *category = kymo_profile_marker_category(w->p, c->category);
    kymo_counts counts = kymo_profile_counts(w->p, id);
    struct rows rows = rows_of(w, c, counts);
    kymo_firefox_counter shown = {.name = kymo_profile_string(w->p, c->name),
                                  .category = category ? kymo_profile_string(w->p, category->name)
                                                       : "Other",
                                  .description = kymo_profile_string(w->p, c->description),
                                  .unit = kymo_profile_string(w->p, c->unit),
                                  .process = c->process,
                                  .flags = c->flags,
                                  .color = c->color,
                                  .order = id + KYMO_FIREFOX_OWN_COUNTERS,
                                  .has_operations = has_operations(counts)};
    kymo_firefox_begin_counter(w, &shown, main_thread[c->process]);
    KYMO_TRY(put_samples(w, &rows, shown.has_operations));
    kymo_json_end_object(w->json);
    return w->json->err;
}

/* ---- selection of counters ---- */

static uint64_t life_ns(const kymo_firefox *w, uint32_t process)
{
    const kymo_process *p = &w->p->processes.data[process];
    uint64_t start = kymo_since_origin(w->p, p->start_ns);
    uint64_t end = p->end_ns ? kymo_since_origin(w->p, p->end_ns) : w->end_ns;
    return end > start ? end - start : 0;
}

static uint64_t track_least_ns(const kymo_firefox *w)
{
    const uint64_t least = 1000000000;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < w->p->processes.len && longest < least; i++)
        longest = life_ns(w, i) > longest ? life_ns(w, i) : longest;
    return longest < least ? longest : least;
}

int kymo_firefox_has_memory_track(const kymo_firefox *w, uint32_t process)
{
    return life_ns(w, process) >= w->track_least_ns;
}

static int is_constant(kymo_counts c)
{
    for (uint32_t i = 1; i < c.count; i++)
        if (c.value[i] != c.value[0])
            return 0;
    return 1;
}

/* A script with a hundred commands would have a thousand system counters. Of these only one is
 * written: memory of each process that lived for some time. If its heap was recorded, that
 * counter replaces it. */
static int is_shown(const kymo_firefox *w, uint32_t id)
{
    const kymo_counter *c = kymo_profile_counter(w->p, id);
    kymo_counts counts = kymo_profile_counts(w->p, id);
    size_t blocks;
    if (counts.count == 0)
        return 0;
    if (!(c->flags & KYMO_COUNTER_SYSTEM))
        return 1;
    if (is_constant(counts))
        return 0;
    if (kymo_firefox_all_counters(w))
        return 1;
    kymo_profile_allocations(w->p, c->process, &blocks);
    return blocks == 0 && strcmp(kymo_profile_string(w->p, c->name), "Resident") == 0 &&
           kymo_firefox_has_memory_track(w, c->process);
}

static kymo_err put_counters(kymo_firefox *w, uint32_t count, const uint32_t *main_thread)
{
    kymo_json_key_array(w->json, "counters");
    KYMO_TRY(kymo_firefox_put_heap_counters(w, main_thread));
    KYMO_TRY(kymo_firefox_put_cpu_counters(w, main_thread));
    for (uint32_t i = 0; i < count; i++)
        if (is_shown(w, i))
            KYMO_TRY(put_counter(w, i, main_thread));
    kymo_json_end_array(w->json);
    return w->json->err;
}

kymo_err kymo_firefox_put_counters(kymo_firefox *w)
{
    uint32_t count = kymo_profile_count(w->p, KYMO_TABLE_COUNTERS);
    if (count == 0 && !kymo_firefox_has_heap(w->p) && !w->has_cpu)
        return KYMO_OK;
    /* By process: index of its main thread in "threads". */
    uint32_t *main_thread = calloc(w->p->processes.len + 1, sizeof *main_thread);
    if (!main_thread)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < w->p->thread_order.len; i++) {
        const kymo_thread *t = &w->p->threads.data[w->p->thread_order.data[i]];
        if (t->is_main)
            main_thread[t->process] = i;
    }
    w->track_least_ns = track_least_ns(w);
    kymo_err err = put_counters(w, count, main_thread);
    free(main_thread);
    return err;
}
