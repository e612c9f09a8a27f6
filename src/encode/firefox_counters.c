/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_counters.c - counters, each a track of its process.
 *
 * The format has changes, not values: the first row is the first value, so that what the viewer
 * adds up is the value again, also that of a gauge. Without "display" its whole page fails.
 */
#include <stdlib.h>
#include <string.h>

#include "encode/firefox_heap.h"
#include "encode/json_table.h"

static void begin_tooltip(kymo_json *j, const char *source, const char *unit, const char *label)
{
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "type", "value");
    kymo_json_key_cstr(j, "source", source);
    kymo_json_key(j, "format");
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "unit", unit);
    kymo_json_end_object(j);
    kymo_json_key_cstr(j, "label", label);
}

static void put_tooltip(kymo_json *j, const char *source, const char *unit, const char *label)
{
    begin_tooltip(j, source, unit, label);
    kymo_json_end_object(j);
}

static void put_selection_tooltip(kymo_json *j, const char *source, const char *unit,
                                  const char *label)
{
    begin_tooltip(j, source, unit, label);
    kymo_json_key(j, "requiresPreviewSelection");
    kymo_json_bool(j, 1);
    kymo_json_end_object(j);
}

static void put_tooltips(kymo_json *j, const kymo_firefox_counter *c, const char *unit)
{
    int is_bytes = strcmp(unit, "bytes") == 0;
    kymo_json_key(j, "tooltipRows");
    kymo_json_begin_array(j);
    if (c->flags & KYMO_COUNTER_RATE) {
        put_tooltip(j, "rate", is_bytes ? "bytes-per-second" : "number",
                    is_bytes ? "rate" : "per second");
        put_tooltip(j, "count", unit, "change since the row before");
        put_selection_tooltip(j, "selection-total", unit, "in the selection");
    } else {
        put_tooltip(j, "accumulated", unit, "value");
        put_tooltip(j, "count-range", unit, "range in the graph");
    }
    put_tooltip(j, "sample-number", "number", "operations since the row before");
    kymo_json_end_array(j);
}

static void put_display(kymo_json *j, const kymo_firefox_counter *c)
{
    int is_bytes = strcmp(c->unit, "bytes") == 0;
    int is_percent = strcmp(c->unit, "percent") == 0;
    kymo_json_key(j, "display");
    kymo_json_begin_object(j);
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
    kymo_json_key_cstr(j, "label", c->name);
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

/* The difference of two values may be larger than either. */
static void put_change(kymo_json *j, int64_t before, int64_t now)
{
    int is_negative = now < before;
    uint64_t change =
        is_negative ? (uint64_t)before - (uint64_t)now : (uint64_t)now - (uint64_t)before;
    kymo_json_signed_fixed(j, is_negative, change, 0);
}

static kymo_err put_samples(kymo_firefox *w, uint32_t id)
{
    kymo_json *j = w->json;
    kymo_counts c = kymo_profile_counts(w->p, id);
    kymo_json_begin_table(j, "samples");
    kymo_json_begin_column(j, "time");
    for (uint32_t i = 0; i < c.count; i++)
        kymo_json_ms(j, kymo_since_origin(w->p, c.time_ns[i]));
    kymo_json_end_array(j);
    KYMO_TRY(kymo_encoder_step(w->encoder, c.count));
    kymo_json_begin_column(j, "count");
    for (uint32_t i = 0; i < c.count; i++)
        put_change(j, i ? c.value[i - 1] : 0, c.value[i]);
    kymo_json_end_array(j);
    KYMO_TRY(kymo_encoder_step(w->encoder, c.count));
    kymo_json_begin_column(j, "number");
    for (uint32_t i = 0; i < c.count; i++) {
        uint64_t before = i ? c.operations[i - 1] : 0;
        kymo_json_u64(j, c.operations[i] > before ? c.operations[i] - before : 0);
    }
    kymo_json_end_array(j);
    kymo_json_end_table(j, c.count);
    return kymo_encoder_step(w->encoder, c.count);
}

static kymo_err put_counter(kymo_firefox *w, uint32_t id, const uint32_t *main_thread)
{
    const kymo_counter *c = kymo_profile_counter(w->p, id);
    const kymo_marker_category *category = kymo_profile_marker_category(w->p, c->category);
    kymo_firefox_counter shown = {.name = kymo_profile_string(w->p, c->name),
                                  .category = category ? kymo_profile_string(w->p, category->name)
                                                       : "Other",
                                  .description = kymo_profile_string(w->p, c->description),
                                  .unit = kymo_profile_string(w->p, c->unit),
                                  .process = c->process,
                                  .flags = c->flags,
                                  .color = c->color,
                                  .order = id};
    kymo_firefox_begin_counter(w, &shown, main_thread[c->process]);
    KYMO_TRY(put_samples(w, id));
    kymo_json_end_object(w->json);
    return w->json->err;
}

static kymo_err put_counters(kymo_firefox *w, uint32_t count, const uint32_t *main_thread)
{
    kymo_json_key(w->json, "counters");
    kymo_json_begin_array(w->json);
    for (uint32_t i = 0; i < count; i++)
        if (kymo_profile_counts(w->p, i).count > 0)
            KYMO_TRY(put_counter(w, i, main_thread));
    KYMO_TRY(kymo_firefox_put_heap_counters(w, count, main_thread));
    kymo_json_end_array(w->json);
    return w->json->err;
}

kymo_err kymo_firefox_put_counters(kymo_firefox *w)
{
    uint32_t count = kymo_profile_count(w->p, KYMO_TABLE_COUNTERS);
    if (count == 0 && !kymo_firefox_has_heap(w->p))
        return KYMO_OK;
    /* By process: the place of its main thread in "threads". */
    uint32_t *main_thread = calloc(w->p->processes.len + 1, sizeof *main_thread);
    if (!main_thread)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < w->p->thread_order.len; i++) {
        const kymo_thread *t = &w->p->threads.data[w->p->thread_order.data[i]];
        if (t->is_main)
            main_thread[t->process] = i;
    }
    kymo_err err = put_counters(w, count, main_thread);
    free(main_thread);
    return err;
}
