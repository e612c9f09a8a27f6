/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_marks.c - chunks of definitions for markers: categories, types, sites, texts,
 * tracks, counters; and the counts of sites.
 *
 * Numbers of kymo/marker_abi.h that determine a payload (kinds) must be known. Numbers that only
 * affect the display may be of a later version: an unknown colour becomes the first one, an unknown
 * format that of plain text.
 */
#include <string.h>

#include "kymo/marker_abi.h"
#include "recording/recording_decode_event.h"

/* Replaces the file's number by the reader's. NONE stays, and also returns 1. */
static int find_or_none(kymo_id_map *map, uint32_t process, uint32_t *id)
{
    return *id == KYMO_EVENT_NONE || kymo_id_map_find(map, process, *id, id);
}

/* Checks an announcement: its process is known (and is replaced by the reader's number), its id
 * is new and not NONE. Returns 0 if not, and counts it. */
static int may_announce(kymo_decoder *d, kymo_id_map *map, uint32_t *process, uint32_t id)
{
    uint32_t number;
    if (!kymo_id_map_find(&d->processes, 0, *process, process))
        d->damage.references++;
    else if (kymo_id_map_find(map, *process, id, &number))
        d->damage.duplicates++;
    else if (id == KYMO_EVENT_NONE)
        d->damage.values++;
    else
        return 1;
    return 0;
}

static uint32_t known_color(uint32_t color)
{
    return color < KYMO_COLOR_COUNT ? color : 0;
}

kymo_err kymo_decode_marker_category(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_marker_category e;
    kymo_id_map *map = &d->marks.categories;
    if (!kymo_read_event(r, KYMO_CHUNK_MARKER_CATEGORY, &e))
        return kymo_decode_malformed(d);
    e.color = known_color(e.color);
    if (!may_announce(d, map, &e.process, e.category))
        return KYMO_OK;
    if (!find_or_none(map, e.process, &e.parent))
        return kymo_decode_drop(&d->damage.references);
    KYMO_TRY(kymo_id_map_add(map, e.process, e.category, &e.category));
    return KYMO_DELIVER(d, marker_category, &e);
}

/* ---- types ---- */

/* Reads texts and lists of a type into scratch; the counts have been checked. */
static kymo_err read_type_lists(kymo_decoder *d, kymo_reader *r,
                                const struct kymo_file_marker_type *f)
{
    struct kymo_decoder_marks *m = &d->marks;
    m->fields.len = m->rows.len = m->graphs.len = 0;
    KYMO_TRY(kymo_vec_reserve(&m->fields, f->field_count));
    KYMO_TRY(kymo_vec_reserve(&m->rows, f->row_count));
    KYMO_TRY(kymo_vec_reserve(&m->graphs, f->graph_count));
    for (uint32_t i = 0; i < f->field_count; i++) {
        kymo_event_marker_field field = {.key = kymo_read_text(r)};
        field.label = kymo_read_text(r);
        m->fields.data[m->fields.len++] = field;
    }
    for (uint32_t i = 0; i < f->row_count; i++) {
        kymo_event_marker_row row = {.label = kymo_read_text(r)};
        row.value = kymo_read_text(r);
        m->rows.data[m->rows.len++] = row;
    }
    for (uint32_t i = 0; i < f->graph_count; i++)
        m->graphs.data[m->graphs.len++] = (kymo_event_marker_graph){.key = kymo_read_text(r)};
    const unsigned char *fields = kymo_read_bytes(r, (size_t)f->field_count * f->field_bytes);
    const unsigned char *graphs = kymo_read_bytes(r, (size_t)f->graph_count * f->graph_bytes);
    if (r->failed)
        return KYMO_OK;
    for (uint32_t i = 0; i < f->field_count; i++, fields += f->field_bytes) {
        struct kymo_file_marker_field field;
        memcpy(&field, fields, sizeof field);
        m->fields.data[i].kind = field.kind;
        m->fields.data[i].format =
            field.format < KYMO_FORMAT_COUNT ? field.format : KYMO_FORMAT_STRING;
        m->fields.data[i].flags = field.flags;
    }
    for (uint32_t i = 0; i < f->graph_count; i++, graphs += f->graph_bytes) {
        struct kymo_file_marker_graph graph;
        memcpy(&graph, graphs, sizeof graph);
        m->graphs.data[i].kind =
            graph.kind <= KYMO_GRAPH_LINE_FILLED ? graph.kind : KYMO_GRAPH_LINE;
        m->graphs.data[i].color = known_color(graph.color);
    }
    return KYMO_OK;
}

static int kinds_are_known(const kymo_event_marker_type *e)
{
    for (uint32_t i = 0; i < e->field_count; i++)
        if (!kymo_mark_kind_bytes(e->fields[i].kind))
            return 0;
    return 1;
}

static kymo_err announce_type(kymo_decoder *d, kymo_event_marker_type *e)
{
    struct kymo_decoder_marks *m = &d->marks;
    int fits;
    if (!may_announce(d, &m->types, &e->process, e->type))
        return KYMO_OK;
    if (!kinds_are_known(e))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_decoder_add_image(m, e, &fits));
    if (!fits)
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&m->types, e->process, e->type, &e->type));
    return KYMO_DELIVER(d, marker_type, e);
}

kymo_err kymo_decode_marker_type(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_marker_type f;
    if (!kymo_read_fixed(r, &f, sizeof f) || f.field_count > KYMO_FILE_FIELDS_MAX ||
        f.row_count > KYMO_FILE_FIELDS_MAX || f.graph_count > KYMO_FILE_FIELDS_MAX ||
        f.field_bytes < sizeof(struct kymo_file_marker_field) ||
        f.graph_bytes < sizeof(struct kymo_file_marker_graph))
        return kymo_decode_malformed(d);
    kymo_event_marker_type e = {
        .process = f.process,
        .type = f.type,
        .show = f.show,
        .is_stack_based = f.is_stack_based,
        .max_per_second = f.max_per_second,
        .payload_bytes = f.payload_bytes,
        .field_count = f.field_count,
        .row_count = f.row_count,
        .graph_count = f.graph_count,
        .line = f.line,
    };
    const char **const texts[] = {&e.name,        &e.chart,     &e.tooltip, &e.table,
                                  &e.description, &e.color_key, &e.file};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(texts); i++)
        *texts[i] = kymo_read_text(r);
    KYMO_TRY(read_type_lists(d, r, &f));
    if (r->failed)
        return kymo_decode_malformed(d);
    e.fields = d->marks.fields.data;
    e.rows = d->marks.rows.data;
    e.graphs = d->marks.graphs.data;
    return announce_type(d, &e);
}

/* ---- sites, texts, tracks, counters ---- */

kymo_err kymo_decode_site(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_site e;
    struct kymo_decoder_marks *m = &d->marks;
    if (!kymo_read_event(r, KYMO_CHUNK_SITE, &e))
        return kymo_decode_malformed(d);
    if (!may_announce(d, &m->sites, &e.process, e.site))
        return KYMO_OK;
    if (!find_or_none(&m->categories, e.process, &e.category) ||
        !find_or_none(&m->types, e.process, &e.type))
        return kymo_decode_drop(&d->damage.references);
    /* A site has either a type, or a kind for text or cells. */
    if (e.kind > KYMO_SITE_VALUES || (e.type != KYMO_EVENT_NONE && e.kind >= KYMO_SITE_TEXT))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_vec_push(&m->carried, (struct kymo_decoder_site){e.type, e.kind}));
    KYMO_TRY(kymo_id_map_add(&m->sites, e.process, e.site, &e.site));
    return KYMO_DELIVER(d, site, &e);
}

static kymo_err decode_named(kymo_decoder *d, kymo_reader *r, kymo_id_map *map,
                             kymo_err (*deliver)(void *ctx, const kymo_event_named *e))
{
    kymo_event_named e;
    if (!kymo_read_event(r, KYMO_CHUNK_LITERAL, &e)) /* a track has the same layout */
        return kymo_decode_malformed(d);
    if (!may_announce(d, map, &e.process, e.id))
        return KYMO_OK;
    KYMO_TRY(kymo_id_map_add(map, e.process, e.id, &e.id));
    d->events++;
    return deliver ? deliver(d->ctx, &e) : KYMO_OK;
}

kymo_err kymo_decode_literal(kymo_decoder *d, kymo_reader *r)
{
    return decode_named(d, r, &d->marks.literals, d->handler->literal);
}

kymo_err kymo_decode_track(kymo_decoder *d, kymo_reader *r)
{
    return decode_named(d, r, &d->marks.tracks, d->handler->track);
}

kymo_err kymo_decode_counter(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_counter e;
    struct kymo_decoder_marks *m = &d->marks;
    if (!kymo_read_event(r, KYMO_CHUNK_COUNTER, &e))
        return kymo_decode_malformed(d);
    e.color = known_color(e.color);
    if (!may_announce(d, &m->counters, &e.process, e.counter))
        return KYMO_OK;
    if (!find_or_none(&m->categories, e.process, &e.category))
        return kymo_decode_drop(&d->damage.references);
    if (e.kind > KYMO_COUNTER_GAUGE)
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&m->counters, e.process, e.counter, &e.counter));
    return KYMO_DELIVER(d, counter, &e);
}

kymo_err kymo_decode_site_counts(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_site_counts e;
    if (!kymo_read_event(r, KYMO_CHUNK_SITE_COUNTS, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process) ||
        !kymo_id_map_find(&d->marks.sites, e.process, e.site, &e.site))
        return kymo_decode_drop(&d->damage.references);
    return KYMO_DELIVER(d, site_counts, &e);
}
