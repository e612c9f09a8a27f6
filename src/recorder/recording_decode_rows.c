/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_rows.c - blocks of markers, counts and labels.
 *
 * A row is read within its own length, and its time is taken before anything of it is judged: the
 * rows behind count from it.
 */
#include <string.h>

#include "kymo/marker_abi.h"
#include "recorder/recording_decode_event.h"

/* Rows of one block, and where reading stands. */
struct rows {
    uint32_t owner;   /* as in the file: thread, or process of counts */
    uint64_t time_ns; /* of the row before */
    kymo_reader row;
};

typedef kymo_err decode_row(kymo_decoder *d, struct rows *rows);

static uint32_t read_u32(kymo_reader *r)
{
    uint64_t value = kymo_read_uleb(r);
    if (value > UINT32_MAX)
        r->failed = 1;
    return (uint32_t)value;
}

static uint64_t read_time(struct rows *rows)
{
    rows->time_ns += (uint64_t)kymo_read_sleb(&rows->row);
    return rows->time_ns;
}

static int time_is_there(uint64_t time_ns)
{
    return time_ns != 0 && kymo_decode_time_is_sane(time_ns);
}

static kymo_err decode_rows(kymo_decoder *d, kymo_reader *r, decode_row *decode)
{
    struct kymo_file_rows head;
    kymo_reader ahead = *r;
    const void *bytes = kymo_read_bytes(&ahead, sizeof head);
    if (bytes == NULL)
        return kymo_decode_malformed(d);
    memcpy(&head, bytes, sizeof head);
    if (head.head_bytes < sizeof head)
        return kymo_decode_malformed(d);
    if (kymo_read_bytes(r, head.head_bytes) == NULL)
        return kymo_decode_malformed(d);
    struct rows rows = {.time_ns = 0};
    for (uint32_t i = 0; i < head.groups; i++) {
        rows.owner = kymo_read_u32(r);
        uint32_t count = kymo_read_u32(r);
        if (r->failed)
            return kymo_decode_malformed(d);
        for (uint32_t n = 0; n < count; n++) {
            uint64_t len = kymo_read_uleb(r);
            bytes = kymo_read_bytes(r, len);
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

/* What the row says, ids as in the file. */
static kymo_event_marker read_marker(struct rows *rows, int *times_can_be)
{
    kymo_reader *r = &rows->row;
    uint64_t flags = kymo_read_uleb(r);
    kymo_event_marker e = {
        .phase = (uint32_t)(flags & KYMO_FILE_MARKER_PHASE),
        .stack = KYMO_EVENT_NONE,
        .track = KYMO_EVENT_NONE,
        .is_open = (flags & KYMO_FILE_MARKER_OPEN) != 0,
    };
    e.site = read_u32(r);
    e.time_ns = read_time(rows);
    *times_can_be = time_is_there(e.time_ns);
    if (flags & KYMO_FILE_MARKER_START) {
        e.start_ns = e.time_ns - kymo_read_uleb(r);
        *times_can_be &= e.start_ns != 0 && e.start_ns <= e.time_ns;
    }
    if (flags & KYMO_FILE_MARKER_PAYLOAD)
        e.payload_bytes = read_u32(r);
    if (flags & KYMO_FILE_MARKER_STACK)
        e.stack = read_u32(r);
    if (flags & KYMO_FILE_MARKER_ID)
        e.id = kymo_read_uleb(r);
    if (flags & KYMO_FILE_MARKER_CELLS)
        e.cells = read_u32(r);
    if (flags & KYMO_FILE_MARKER_OWNER)
        e.owner = kymo_read_uleb(r);
    if (flags & KYMO_FILE_MARKER_TRACK)
        e.track = read_u32(r);
    if (flags & KYMO_FILE_MARKER_NAME)
        e.name = kymo_read_text(r);
    e.payload = kymo_read_bytes(r, e.payload_bytes);
    if (flags & KYMO_FILE_MARKER_MADE) {
        e.maker = read_u32(r);
        e.made_ns = e.time_ns + (uint64_t)kymo_read_sleb(r);
        *times_can_be &= time_is_there(e.made_ns);
    }
    return e;
}

static void find_or_leave_out(kymo_decoder *d, kymo_id_map *map, uint32_t process, uint32_t *id)
{
    uint32_t file_id = *id;
    *id = KYMO_EVENT_NONE;
    if (file_id != KYMO_EVENT_NONE && !kymo_id_map_find(map, process, file_id, id))
        d->damage.references++; /* the rest of the marker is true without it */
}

static kymo_err decode_marker(kymo_decoder *d, struct rows *rows)
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
    find_or_leave_out(d, &d->stacks, process, &e.stack);
    find_or_leave_out(d, &d->marks.tracks, process, &e.track);
    if (e.made_ns)
        find_or_leave_out(d, &d->threads, 0, &e.maker);
    return KYMO_DELIVER(d, marker, &e);
}

kymo_err kymo_decode_markers(kymo_decoder *d, kymo_reader *r)
{
    return decode_rows(d, r, decode_marker);
}

/* ---- counts ---- */

static kymo_err decode_count(kymo_decoder *d, struct rows *rows)
{
    kymo_event_count e = {.counter = read_u32(&rows->row)};
    e.time_ns = read_time(rows);
    e.value = kymo_read_sleb(&rows->row);
    e.operations = kymo_read_uleb(&rows->row);
    if (rows->row.failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, rows->owner, &e.process) ||
        !kymo_id_map_find(&d->marks.counters, e.process, e.counter, &e.counter))
        return kymo_decode_drop(&d->damage.references);
    if (!time_is_there(e.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, count, &e);
}

kymo_err kymo_decode_counts(kymo_decoder *d, kymo_reader *r)
{
    return decode_rows(d, r, decode_count);
}

/* ---- labels ---- */

static int label_can_be(const kymo_event_label *e, int has_number)
{
    if (!time_is_there(e->time_ns) || e->change == 0 ||
        (e->key && strlen(e->key) > KYMO_FILE_MARK_TEXT_MAX) ||
        (e->text && strlen(e->text) > KYMO_FILE_MARK_TEXT_MAX))
        return 0;
    switch (e->kind) {
    case KYMO_KIND_NONE:
        return !has_number && e->text == NULL;
    case KYMO_KIND_TEXT:
        return !has_number && e->text != NULL;
    case KYMO_KIND_I64:
    case KYMO_KIND_U64:
    case KYMO_KIND_F64:
    case KYMO_KIND_PTR:
        return has_number && e->text == NULL;
    default:
        return 0;
    }
}

static kymo_err decode_label(kymo_decoder *d, struct rows *rows)
{
    kymo_reader *r = &rows->row;
    uint64_t flags = kymo_read_uleb(r);
    int has_number = (flags & KYMO_FILE_LABEL_NUMBER) != 0;
    kymo_event_label e = {.change = (uint32_t)(flags & KYMO_FILE_LABEL_CHANGE)};
    e.depth = read_u32(r);
    e.time_ns = read_time(rows);
    e.kind = read_u32(r);
    if (has_number)
        e.number = kymo_read_uleb(r);
    if (flags & KYMO_FILE_LABEL_KEY)
        e.key = kymo_read_text(r);
    if (flags & KYMO_FILE_LABEL_TEXT)
        e.text = kymo_read_text(r);
    if (r->failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, rows->owner, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (!label_can_be(&e, has_number))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, label, &e);
}

kymo_err kymo_decode_labels(kymo_decoder *d, kymo_reader *r)
{
    return decode_rows(d, r, decode_label);
}
