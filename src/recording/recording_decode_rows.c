/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_rows.c - chunks of markers, counts and labels.
 */
#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recording/recording_decode_rows.h"

kymo_err kymo_decode_rows(kymo_decoder *d, kymo_reader *r, kymo_decode_row *decode)
{
    struct kymo_file_rows head;
    if (!kymo_read_head(r, &head, sizeof head, &head.head_bytes))
        return kymo_decode_malformed(d);
    struct kymo_rows rows = {.owner = 0};
    for (uint32_t i = 0; i < head.groups; i++) {
        rows.owner = kymo_read_u32(r);
        uint32_t count = kymo_read_u32(r);
        if (r->failed)
            return kymo_decode_malformed(d);
        for (uint32_t n = 0; n < count; n++) {
            uint64_t len = kymo_read_uleb(r);
            const void *bytes = kymo_read_bytes(r, len);
            if (bytes == NULL)
                return kymo_decode_malformed(d);
            rows.row = kymo_reader_of(bytes, len);
            KYMO_TRY(decode(d, &rows));
            if (d->malformed)
                return KYMO_OK;
        }
    }
    return KYMO_OK;
}

/* ---- markers ---- */

/* Decodes a row; ids as in the file. */
static kymo_event_marker read_marker(struct kymo_rows *rows, int *times_can_be)
{
    kymo_reader *r = &rows->row;
    uint64_t flags = kymo_read_uleb(r);
    kymo_event_marker e = {
        .phase = (uint32_t)(flags & KYMO_FILE_MARKER_PHASE),
        .stack = KYMO_EVENT_NONE,
        .track = KYMO_EVENT_NONE,
        .is_open = (flags & KYMO_FILE_MARKER_OPEN) != 0,
    };
    e.site = kymo_read_u32_leb(r);
    e.time_ns = kymo_read_change(rows, &rows->time_ns);
    *times_can_be = kymo_decode_time_is_there(e.time_ns);
    if (flags & KYMO_FILE_MARKER_START) {
        e.start_ns = e.time_ns - kymo_read_uleb(r);
        *times_can_be &= e.start_ns != 0 && e.start_ns <= e.time_ns;
    }
    if (flags & KYMO_FILE_MARKER_PAYLOAD)
        e.payload_bytes = kymo_read_u32_leb(r);
    if (flags & KYMO_FILE_MARKER_STACK)
        e.stack = kymo_read_u32_leb(r);
    if (flags & KYMO_FILE_MARKER_ID)
        e.id = kymo_read_uleb(r);
    if (flags & KYMO_FILE_MARKER_CELLS)
        e.cells = kymo_read_u32_leb(r);
    if (flags & KYMO_FILE_MARKER_OWNER)
        e.owner = kymo_read_uleb(r);
    if (flags & KYMO_FILE_MARKER_TRACK)
        e.track = kymo_read_u32_leb(r);
    if (flags & KYMO_FILE_MARKER_NAME)
        e.name = kymo_read_text(r);
    e.payload = kymo_read_bytes(r, e.payload_bytes);
    if (flags & KYMO_FILE_MARKER_MADE) {
        e.maker = kymo_read_u32_leb(r);
        e.made_ns = e.time_ns + (uint64_t)kymo_read_sleb(r);
        *times_can_be &= kymo_decode_time_is_there(e.made_ns);
    }
    return e;
}

static kymo_err decode_marker(kymo_decoder *d, struct kymo_rows *rows)
{
    int times_can_be, fits;
    kymo_event_marker e = read_marker(rows, &times_can_be);
    if (rows->row.failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, rows->owner, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    uint32_t process = d->thread_process.data[e.thread];
    if (!kymo_id_map_find(&d->marks.sites, process, e.site, &e.site))
        return kymo_decode_drop(&d->damage.references);
    if (!times_can_be || (e.name && strlen(e.name) > KYMO_FILE_MARK_TEXT_MAX))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_decoder_take_payload(d, process, e.site, &e, &fits));
    if (!fits) {
        d->damage.values++;
        e.payload = NULL;
        e.payload_bytes = 0;
        e.cells = 0;
    }
    kymo_decode_find_or_leave_out(d, &d->stacks, process, &e.stack);
    kymo_decode_find_or_leave_out(d, &d->marks.tracks, process, &e.track);
    if (e.made_ns)
        kymo_decode_find_or_leave_out(d, &d->threads, 0, &e.maker);
    return KYMO_DELIVER(d, marker, &e);
}

kymo_err kymo_decode_markers(kymo_decoder *d, kymo_reader *r)
{
    return kymo_decode_rows(d, r, decode_marker);
}

/* ---- counts ---- */

static kymo_err decode_count(kymo_decoder *d, struct kymo_rows *rows)
{
    kymo_event_count e = {.counter = kymo_read_u32_leb(&rows->row)};
    e.time_ns = kymo_read_change(rows, &rows->time_ns);
    e.value = kymo_read_sleb(&rows->row);
    e.operations = kymo_read_uleb(&rows->row);
    if (rows->row.failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, rows->owner, &e.process) ||
        !kymo_id_map_find(&d->marks.counters, e.process, e.counter, &e.counter))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_there(e.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, count, &e);
}

kymo_err kymo_decode_counts(kymo_decoder *d, kymo_reader *r)
{
    return kymo_decode_rows(d, r, decode_count);
}

/* ---- labels ---- */

static int label_can_be(const kymo_event_label *e, int has_number)
{
    if (!kymo_decode_time_is_there(e->time_ns) || e->change == 0 ||
        (e->key && strlen(e->key) > KYMO_FILE_MARK_TEXT_MAX) ||
        (e->text && strlen(e->text) > KYMO_FILE_MARK_TEXT_MAX))
        return 0;
    if (e->change == KYMO_LABEL_INHERITED && !kymo_decode_time_is_there(e->fork_ns))
        return 0;
    if (kymo_mark_cell_form(e->kind) == KYMO_CELL_NUMBER)
        return has_number && e->text == NULL;
    return !has_number &&
           (e->kind == KYMO_KIND_TEXT ? e->text != NULL
                                      : e->kind == KYMO_KIND_NONE && e->text == NULL);
}

/* Decodes the parent of an inherited change; ids as in the file. */
static void read_inherited(struct kymo_rows *rows, kymo_event_label *e)
{
    kymo_reader *r = &rows->row;
    e->change = KYMO_LABEL_INHERITED;
    e->from_process = kymo_read_u32_leb(r);
    e->from_tid = (int32_t)kymo_read_u32_leb(r);
    e->fork_ns = e->time_ns + (uint64_t)kymo_read_sleb(r);
}

void kymo_read_label(struct kymo_rows *rows, kymo_event_label *e, int *has_number)
{
    kymo_reader *r = &rows->row;
    uint64_t flags = kymo_read_uleb(r);
    *has_number = (flags & KYMO_FILE_LABEL_NUMBER) != 0;
    *e = (kymo_event_label){.thread = rows->owner,
                            .change = (uint32_t)(flags & KYMO_FILE_LABEL_CHANGE)};
    e->depth = kymo_read_u32_leb(r);
    e->time_ns = kymo_read_change(rows, &rows->time_ns);
    e->kind = kymo_read_u32_leb(r);
    if (*has_number)
        e->number = kymo_read_uleb(r);
    if (flags & KYMO_FILE_LABEL_KEY)
        e->key = kymo_read_text(r);
    if (flags & KYMO_FILE_LABEL_TEXT)
        e->text = kymo_read_text(r);
    if (flags & KYMO_FILE_LABEL_INHERITED)
        read_inherited(rows, e);
}

static kymo_err decode_label(kymo_decoder *d, struct kymo_rows *rows)
{
    int has_number;
    kymo_event_label e;
    kymo_read_label(rows, &e, &has_number);
    if (rows->row.failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, rows->owner, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (e.change == KYMO_LABEL_INHERITED &&
        !kymo_id_map_find(&d->processes, 0, e.from_process, &e.from_process))
        return kymo_decode_drop(&d->damage.references);
    if (!label_can_be(&e, has_number))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, label, &e);
}

kymo_err kymo_decode_labels(kymo_decoder *d, kymo_reader *r)
{
    return kymo_decode_rows(d, r, decode_label);
}
