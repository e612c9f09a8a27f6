/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_marks.c - chunks of sites and types of markers. Types are few, like all
 * definitions for markers: each is a separate chunk, written before any pending row that refers to
 * it.
 */
#include "recording/recording_write_event.h"

/* Puts all texts first, then the entries of fixed size. */
static void put_type_lists(kymo_recording_writer *w, const kymo_event_marker_type *e)
{
    for (uint32_t i = 0; i < e->field_count; i++) {
        kymo_writer_put_text(w, e->fields[i].key);
        kymo_writer_put_text(w, e->fields[i].label);
    }
    for (uint32_t i = 0; i < e->row_count; i++) {
        kymo_writer_put_text(w, e->rows[i].label);
        kymo_writer_put_text(w, e->rows[i].value);
    }
    for (uint32_t i = 0; i < e->graph_count; i++)
        kymo_writer_put_text(w, e->graphs[i].key);
    for (uint32_t i = 0; i < e->field_count; i++) {
        struct kymo_file_marker_field field = {
            .kind = e->fields[i].kind,
            .format = e->fields[i].format,
            .flags = e->fields[i].flags,
        };
        kymo_writer_put_bytes(w, &field, sizeof field);
    }
    for (uint32_t i = 0; i < e->graph_count; i++) {
        struct kymo_file_marker_graph graph = {e->graphs[i].kind, e->graphs[i].color};
        kymo_writer_put_bytes(w, &graph, sizeof graph);
    }
}

kymo_err kymo_recording_write_site(kymo_recording_writer *w, const kymo_event_site *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    kymo_writer_begin_event(w, KYMO_CHUNK_SITE, e);
    KYMO_TRY(kymo_writer_finish(w, KYMO_CHUNK_SITE, 0));
    KYMO_KEEP(w, kymo_kept_site(w, e));
    return KYMO_OK;
}

kymo_err kymo_recording_write_marker_type(kymo_recording_writer *w, const kymo_event_marker_type *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->field_count > KYMO_FILE_FIELDS_MAX || e->row_count > KYMO_FILE_FIELDS_MAX ||
        e->graph_count > KYMO_FILE_FIELDS_MAX)
        return KYMO_E_INVALID;
    struct kymo_file_marker_type fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .type = e->type,
        .show = e->show,
        .is_stack_based = e->is_stack_based,
        .max_per_second = e->max_per_second,
        .payload_bytes = e->payload_bytes,
        .line = e->line,
        .field_count = e->field_count,
        .row_count = e->row_count,
        .graph_count = e->graph_count,
        .field_bytes = sizeof(struct kymo_file_marker_field),
        .graph_bytes = sizeof(struct kymo_file_marker_graph),
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->name);
    kymo_writer_put_text(w, e->chart);
    kymo_writer_put_text(w, e->tooltip);
    kymo_writer_put_text(w, e->table);
    kymo_writer_put_text(w, e->description);
    kymo_writer_put_text(w, e->color_key);
    kymo_writer_put_text(w, e->file);
    put_type_lists(w, e);
    return kymo_writer_finish(w, KYMO_CHUNK_MARKER_TYPE, 0);
}
