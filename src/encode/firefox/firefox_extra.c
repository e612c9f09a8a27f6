/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_extra.c - the entries under Profile Info in the viewer: the quality of the recording, and
 * what is missing of its markers and allocations.
 */
#include "base/str.h"
#include "encode/firefox/firefox_heap.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    /* more rows in one thread make the viewer slow */
    MANY_MARKERS = 300000,
    /* limit of entries for a reader */
    ENTRIES_MAX = 100,
};

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
    kymo_json_key_array(j, "entries");
}

static void end_section(kymo_json *j)
{
    kymo_json_end_array(j);
    kymo_json_end_object(j);
}

/* On failure of an allocation, the entry has no text. */
static void free_text(kymo_json *j, kymo_str *text)
{
    if (text->failed && j->err == KYMO_OK)
        j->err = KYMO_E_NOMEM;
    kymo_str_deinit(text);
}

/* Entries for each kind of loss of a type's markers. */
static void losses_entries(kymo_firefox *w, const kymo_marker_losses *losses)
{
    const struct {
        const char *what;
        uint64_t count;
    } kinds[] = {
        {"not recorded, buffers full", losses->lost},
        {"not recorded, above the type's limit", losses->capped},
        {"texts cut", losses->cut},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(kinds); i++) {
        kymo_str label = {0};
        if (kinds[i].count == 0)
            continue;
        kymo_str_printf(&label, "%s: %s", kymo_profile_string(w->p, losses->name), kinds[i].what);
        count_entry(w->json, kymo_str_cstr(&label), kinds[i].count);
        free_text(w->json, &label);
    }
}

static void many_markers_entry(kymo_firefox *w, const char *name, int32_t tid, size_t count)
{
    kymo_str text = {0};
    if (count <= MANY_MARKERS)
        return;
    kymo_str_printf(&text, "%s (%" PRIi32 ") has %zu: the viewer may be slow", name, tid, count);
    text_entry(w->json, "Very many markers", kymo_str_cstr(&text));
    free_text(w->json, &text);
}

/* Counts rows of each thread, including labels of samples, and of each track. */
static void many_markers_entries(kymo_firefox *w)
{
    for (uint32_t i = 0; i < w->p->threads.len; i++) {
        const kymo_thread *t = &w->p->threads.data[i];
        size_t count;
        kymo_err err = kymo_firefox_count_thread_markers(w, i, &count);
        if (err != KYMO_OK && w->json->err == KYMO_OK)
            w->json->err = err;
        many_markers_entry(w, t->name, t->tid, count);
    }
    for (size_t i = 0; i < w->marks.tracks.len; i++) {
        const kymo_firefox_track *track = &w->marks.tracks.data[i];
        const kymo_firefox_tracked *first = &w->marks.tracked.data[track->first];
        many_markers_entry(w, kymo_profile_string(w->p, first->track),
                           w->p->processes.data[first->process].pid, track->count);
    }
}

/* The viewer hides a graph if one value is not a number. */
static void missing_graphs_entries(kymo_firefox *w)
{
    unsigned entries = 0;
    for (uint32_t id = 0; id < w->marks.schema_count; id++) {
        const kymo_schema *schema = kymo_profile_schema(w->p, id);
        for (uint32_t i = 0; i < schema->graph_count && entries < ENTRIES_MAX; i++) {
            kymo_str text = {0};
            uint32_t key = schema->graphs[i].key;
            if (kymo_firefox_is_number(schema, kymo_firefox_fields_of(&w->marks, id), key))
                continue;
            kymo_str_printf(&text, "%s.%s: not all of its values are numbers that are exact here",
                            kymo_profile_string(w->p, schema->name),
                            kymo_profile_string(w->p, key));
            text_entry(w->json, "Graph not drawn", kymo_str_cstr(&text));
            free_text(w->json, &text);
            entries++;
        }
    }
}

static void write_markers(kymo_firefox *w)
{
    kymo_json *j = w->json;
    uint32_t losses = kymo_profile_count(w->p, KYMO_TABLE_MARKER_LOSSES);
    uint32_t markers = kymo_profile_count(w->p, KYMO_TABLE_MARKERS);
    if (markers == 0 && losses == 0 && !w->marks.has_sample_labels)
        return;
    begin_section(j, "Markers");
    count_entry(j, "Markers", markers);
    for (uint32_t i = 0; i < losses && i < ENTRIES_MAX; i++)
        losses_entries(w, kymo_profile_marker_losses(w->p, i));
    missing_graphs_entries(w);
    many_markers_entries(w);
    end_section(j);
}

/* ---- memory ---- */

static KYMO_PRINTF(4, 5) void heap_entry(kymo_firefox *w, uint32_t process, const char *what,
                                         const char *fmt, ...)
{
    const kymo_process *p = &w->p->processes.data[process];
    kymo_str label = {0};
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text[kymo_utf8_valid_prefix(text, strlen(text))] = '\0';
    kymo_str_printf(&label, "%s (%" PRIi32 "): %s", p->name, p->pid, what);
    text_entry(w->json, kymo_str_cstr(&label), text);
    free_text(w->json, &label);
}

static void heap_entries(kymo_firefox *w, const kymo_heap *heap)
{
    uint32_t process = heap->process;
    uint64_t least = kymo_firefox_thinned(w->p, process);
    const char *not_seen = kymo_profile_string(w->p, heap->not_seen);
    if (heap->rate == 1)
        heap_entry(w, process, "recorded", "every allocation");
    else if (heap->rate)
        heap_entry(w, process, "recorded", "an allocation each %" PRIu64 " bytes, at random",
                   heap->rate);
    if (heap->lost || heap->lost_frees)
        heap_entry(w, process, "lost", "%" PRIu64 " allocations, %" PRIu64 " frees", heap->lost,
                   heap->lost_frees);
    if (heap->is_partial)
        heap_entry(w, process, "partial", "what lives is not to be trusted");
    if (*not_seen)
        heap_entry(w, process, "not seen", "%s", not_seen);
    if (least)
        heap_entry(w, process, "too many to show",
                   "those below %" PRIu64 " bytes are drawn by chance", least);
}

static void write_memory(kymo_firefox *w)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < w->p->processes.len && shown < ENTRIES_MAX; i++) {
        const kymo_heap *heap = kymo_profile_heap(w->p, i);
        if (!heap)
            continue;
        if (shown++ == 0)
            begin_section(w->json, "Memory");
        heap_entries(w, heap);
    }
    if (shown)
        end_section(w->json);
}

static void write_recording(kymo_firefox *w)
{
    kymo_json *j = w->json;
    const kymo_meta *meta = &w->p->meta;
    const kymo_quality *q = &w->p->quality;
    char text[64];
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
    ratio_entry(j, "Distinct samples of those requested", q->sampled_rate);
    if (meta->wall_period_ns)
        ratio_entry(j, "Wall time accounted for", q->wall_achieved);
    ratio_entry(j, "Complete stacks", q->stacks_complete);
    if (q->python_samples)
        count_entry(j, "Samples with functions of Python", q->python_samples);
    ratio_entry(j, "Symbolized frames", q->frames_symbolized);
    time_entry(j, "CPU time not sampled", q->cpu_unsampled_ns);
    if (q->startup_ns)
        time_entry(j, "CPU time of starts of processes", q->startup_ns);
    count_entry(j, "System calls interrupted (EINTR)", q->disturbed);
    time_entry(j, "Time in handlers", q->handler_ns);
    if (q->ring_bytes) {
        count_entry(j, "Bytes of newest samples and markers kept", q->ring_bytes);
        count_entry(j, "Older samples dropped", q->dropped_samples);
        time_entry(j, "CPU time of these", q->dropped_ns);
        count_entry(j, "Older wall samples dropped", q->dropped_wall_samples);
        count_entry(j, "Older markers dropped", q->dropped_markers);
        count_entry(j, "Older counter values dropped", q->dropped_counts);
        count_entry(j, "Older call events dropped", q->dropped_calls);
    }
    for (uint32_t i = 0; i < q->lost_count; i++) {
        char label[96];
        size_t len = kymo_utf8_copy(text, sizeof text, q->lost[i].kind, strlen(q->lost[i].kind));
        snprintf(label, sizeof label, "Lost: %.*s", (int)len, text);
        count_entry(j, label, q->lost[i].count);
    }
    end_section(j);
}

void kymo_firefox_put_extra(kymo_firefox *w)
{
    kymo_json_key_array(w->json, "extra");
    /* A profile made by a program is not a recording. */
    if (w->p->meta.version || w->p->meta.engine)
        write_recording(w);
    write_markers(w);
    write_memory(w);
    kymo_json_end_array(w->json);
}
