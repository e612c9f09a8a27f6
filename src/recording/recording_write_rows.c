/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_rows.c - chunks of markers, counts and labels: rows of LEB128 numbers, then texts
 * and bytes.
 *
 *   event ──► row ──► pending rows of its kind ──► chunk_out
 *                     in groups of one thread (counts: of one process)
 *
 * A scope without a payload takes some 8 bytes in the file. Each row begins with its length, so
 * that a later version can append to it, and a reader can skip it.
 */
#include "recording/recording_write_rows.h"

#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"

#define PACKED_BYTES 4096u /* a smaller payload is not worth the time */

/* There are millions of similar rows of memory: compressed they take a sixth to a third of the
 * space, and writing them takes half as much time again. */
static int is_packed(const kymo_recording_writer *w, const struct kymo_pending_rows *p)
{
    return w->flags & KYMO_RECORDING_COMPRESS ||
           (p->type == KYMO_CHUNK_MEMORY && !w->hurries && p->bytes.len >= PACKED_BYTES);
}

static void clear_rows(struct kymo_pending_rows *p)
{
    kymo_bytes_clear(&p->bytes);
    p->group_count = 0;
    p->time_ns = p->id = p->address = p->count = 0;
}

void kymo_writer_drop_rows(kymo_recording_writer *w)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(w->rows); i++)
        clear_rows(&w->rows[i]);
}

static kymo_err close_rows(kymo_recording_writer *w, struct kymo_pending_rows *p)
{
    if (p->group_count == 0)
        return KYMO_OK;
    struct kymo_file_rows head = {.head_bytes = sizeof head, .groups = p->group_count};
    memcpy(p->bytes.data, &head, sizeof head);
    kymo_err err = kymo_writer_put_chunk(w, p->type, &p->bytes, is_packed(w, p));
    clear_rows(p);
    return err;
}

void kymo_writer_init_rows(kymo_recording_writer *w)
{
    w->markers.type = KYMO_CHUNK_MARKERS;
    w->counts.type = KYMO_CHUNK_COUNTS;
    w->labels.type = KYMO_CHUNK_LABELS;
    w->memory.type = KYMO_CHUNK_MEMORY;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(w->rows); i++)
        kymo_bytes_init(&w->rows[i].bytes, KYMO_CHUNK_LENGTH_MAX);
}

void kymo_writer_deinit_rows(kymo_recording_writer *w)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(w->rows); i++)
        kymo_bytes_deinit(&w->rows[i].bytes);
}

kymo_err kymo_writer_close_rows(kymo_recording_writer *w)
{
    int has_ring = w->ring.most_bytes != 0;
    /* Stacks first: markers and allocations refer to them. */
    KYMO_TRY(kymo_writer_close_stacks(w));
    /* A ring drops the oldest chunks first: labels must not go before the events that have them. */
    KYMO_TRY(has_ring ? kymo_writer_close_samples(w) : close_rows(w, &w->labels));
    KYMO_TRY(close_rows(w, &w->markers));
    KYMO_TRY(close_rows(w, &w->counts));
    if (has_ring)
        KYMO_TRY(close_rows(w, &w->labels));
    return close_rows(w, &w->memory);
}

/* Opens the group for the next row, unless it is open. */
static kymo_err open_group(struct kymo_pending_rows *p, uint32_t owner,
                           struct kymo_file_group *group)
{
    static const struct kymo_file_rows no_head;
    if (p->group_count == 0) {
        kymo_bytes_clear(&p->bytes);
        KYMO_TRY(kymo_bytes_append(&p->bytes, &no_head, sizeof no_head));
    } else {
        memcpy(group, p->bytes.data + p->group_at, sizeof *group);
        if (group->thread == owner)
            return KYMO_OK;
    }
    *group = (struct kymo_file_group){.thread = owner};
    p->group_at = p->bytes.len;
    KYMO_TRY(kymo_bytes_append(&p->bytes, group, sizeof *group));
    p->group_count++;
    return KYMO_OK;
}

static kymo_err append(kymo_bytes *bytes, const void *data, size_t len)
{
    return len ? kymo_bytes_append(bytes, data, len) : KYMO_OK;
}

static kymo_err append_row(struct kymo_pending_rows *p, uint32_t owner, const struct kymo_row *row,
                           const size_t texts_len[2], size_t len)
{
    struct kymo_file_group group = {0};
    struct kymo_row_numbers length;
    KYMO_TRY(open_group(p, owner, &group));
    length.len = 0;
    kymo_row_put_uleb(&length, len);
    KYMO_TRY(kymo_bytes_append(&p->bytes, length.bytes, length.len));
    KYMO_TRY(kymo_bytes_append(&p->bytes, row->numbers.bytes, row->numbers.len));
    for (size_t i = 0; i < 2; i++)
        KYMO_TRY(append(&p->bytes, row->texts[i], texts_len[i]));
    KYMO_TRY(append(&p->bytes, row->bytes, row->bytes_len));
    KYMO_TRY(append(&p->bytes, row->later.bytes, row->later.len));
    group.count++;
    memcpy(p->bytes.data + p->group_at, &group, sizeof group);
    return KYMO_OK;
}

kymo_err kymo_writer_put_row(kymo_recording_writer *w, struct kymo_pending_rows *p, uint32_t owner,
                             const struct kymo_row *row)
{
    size_t texts_len[2];
    size_t len = row->numbers.len + row->bytes_len + row->later.len;
    for (size_t i = 0; i < 2; i++) {
        texts_len[i] = row->texts[i] ? strlen(row->texts[i]) + 1 : 0;
        len += texts_len[i];
    }
    kymo_err err = append_row(p, owner, row, texts_len, len);
    if (err == KYMO_OK && p->bytes.len >= w->pending_bytes)
        err = kymo_writer_close_rows(w);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

static int is_too_long(const char *text)
{
    return text != NULL && strlen(text) > KYMO_FILE_MARK_TEXT_MAX;
}

kymo_err kymo_writer_put_marker(kymo_recording_writer *w, const kymo_event_marker *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->payload_bytes > KYMO_FILE_PAYLOAD_MAX || e->phase > KYMO_FILE_MARKER_PHASE ||
        is_too_long(e->name))
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_stack(w, e->thread, e->stack));
    if (e->made_ns)
        KYMO_KEEP(w, kymo_kept_need_thread(w, e->maker));
    struct kymo_row row = {.texts = {e->name}, .bytes = e->payload, .bytes_len = e->payload_bytes};
    kymo_row_put_uleb(&row.numbers, e->phase | (e->start_ns ? KYMO_FILE_MARKER_START : 0) |
                                        (e->payload_bytes ? KYMO_FILE_MARKER_PAYLOAD : 0) |
                                        (e->stack != KYMO_EVENT_NONE ? KYMO_FILE_MARKER_STACK : 0) |
                                        (e->id ? KYMO_FILE_MARKER_ID : 0) |
                                        (e->cells ? KYMO_FILE_MARKER_CELLS : 0) |
                                        (e->owner ? KYMO_FILE_MARKER_OWNER : 0) |
                                        (e->track != KYMO_EVENT_NONE ? KYMO_FILE_MARKER_TRACK : 0) |
                                        (e->name ? KYMO_FILE_MARKER_NAME : 0) |
                                        (e->is_open ? KYMO_FILE_MARKER_OPEN : 0) |
                                        (e->made_ns ? KYMO_FILE_MARKER_MADE : 0));
    kymo_row_put_uleb(&row.numbers, e->site);
    kymo_row_put_change(&row.numbers, &w->markers.time_ns, e->time_ns);
    if (e->start_ns)
        kymo_row_put_uleb(&row.numbers, e->time_ns - e->start_ns);
    if (e->payload_bytes)
        kymo_row_put_uleb(&row.numbers, e->payload_bytes);
    if (e->stack != KYMO_EVENT_NONE)
        kymo_row_put_uleb(&row.numbers, e->stack);
    if (e->id)
        kymo_row_put_uleb(&row.numbers, e->id);
    if (e->cells)
        kymo_row_put_uleb(&row.numbers, e->cells);
    if (e->owner)
        kymo_row_put_uleb(&row.numbers, e->owner);
    if (e->track != KYMO_EVENT_NONE)
        kymo_row_put_uleb(&row.numbers, e->track);
    if (e->made_ns) {
        kymo_row_put_uleb(&row.later, e->maker);
        kymo_row_put_sleb(&row.later, (int64_t)(e->made_ns - e->time_ns));
    }
    return kymo_writer_put_row(w, &w->markers, e->thread, &row);
}

kymo_err kymo_recording_write_marker(kymo_recording_writer *w, const kymo_event_marker *e)
{
    KYMO_TRY(kymo_writer_put_marker(w, e));
    KYMO_KEEP(w, kymo_kept_marker(w, e));
    return KYMO_OK;
}

kymo_err kymo_recording_write_count(kymo_recording_writer *w, const kymo_event_count *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    KYMO_KEEP(w, kymo_kept_need_process(w, e->process));
    KYMO_KEEP(w, kymo_kept_count(w, e));
    struct kymo_row row = {.bytes_len = 0};
    kymo_row_put_uleb(&row.numbers, e->counter);
    kymo_row_put_change(&row.numbers, &w->counts.time_ns, e->time_ns);
    kymo_row_put_sleb(&row.numbers, e->value);
    kymo_row_put_uleb(&row.numbers, e->operations);
    return kymo_writer_put_row(w, &w->counts, e->process, &row);
}

kymo_err kymo_writer_put_label(kymo_recording_writer *w, const kymo_event_label *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    int is_text = e->kind == KYMO_KIND_TEXT;
    int is_number = e->kind != KYMO_KIND_NONE && !is_text;
    const char *key = e->key && e->key[0] != '\0' ? e->key : NULL;
    const char *text = is_text ? (e->text ? e->text : "") : NULL;
    int is_inherited = e->change == KYMO_LABEL_INHERITED;
    /* For an older reader this is a change that leaves no labels. */
    uint32_t change = is_inherited ? KYMO_LABEL_POPPED : e->change;
    if (change > KYMO_FILE_LABEL_CHANGE || is_too_long(key) || is_too_long(text))
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_thread(w, e->thread));
    if (is_inherited)
        KYMO_KEEP(w, kymo_kept_need_process(w, e->from_process));
    struct kymo_row row = {.texts = {key, text}};
    kymo_row_put_uleb(&row.numbers, change | (key ? KYMO_FILE_LABEL_KEY : 0) |
                                        (is_number ? KYMO_FILE_LABEL_NUMBER : 0) |
                                        (text ? KYMO_FILE_LABEL_TEXT : 0) |
                                        (is_inherited ? KYMO_FILE_LABEL_INHERITED : 0));
    kymo_row_put_uleb(&row.numbers, e->depth);
    kymo_row_put_change(&row.numbers, &w->labels.time_ns, e->time_ns);
    kymo_row_put_uleb(&row.numbers, e->kind);
    if (is_number)
        kymo_row_put_uleb(&row.numbers, e->number);
    if (is_inherited) {
        kymo_row_put_uleb(&row.later, e->from_process);
        kymo_row_put_uleb(&row.later, (uint32_t)e->from_tid);
        kymo_row_put_sleb(&row.later, (int64_t)(e->fork_ns - e->time_ns));
    }
    return kymo_writer_put_row(w, &w->labels, e->thread, &row);
}

kymo_err kymo_recording_write_label(kymo_recording_writer *w, const kymo_event_label *e)
{
    KYMO_TRY(kymo_writer_put_label(w, e));
    KYMO_KEEP(w, kymo_kept_label(w, e));
    return KYMO_OK;
}
