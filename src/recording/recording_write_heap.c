/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_heap.c - chunks of memory events: rows of allocations, frees, resizes and
 * mappings, in groups of one thread.
 *
 * An allocation takes some 16 bytes in the file, and its free 7: ids, addresses and counts are
 * stored as differences from the row before.
 */
#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recording/recording_write_rows.h"

/* Refuses what no reader would accept before anything is written: later rows are relative to it. */
static int allocation_can_be(const kymo_event_allocation *e)
{
    return e->time_ns != 0 && e->time_ns <= KYMO_FILE_TIME_MAX && e->bytes <= KYMO_FILE_BYTES_MAX &&
           e->rate != 0 && e->rate <= KYMO_FILE_BYTES_MAX && e->family < KYMO_ALLOC_FAMILIES;
}

static void begin_row(kymo_recording_writer *w, struct kymo_row *row, uint32_t flags,
                      uint64_t time_ns)
{
    kymo_row_put_uleb(&row->numbers, flags);
    kymo_row_put_change(&row->numbers, &w->memory.time_ns, time_ns);
}

static uint32_t stack_flag(uint32_t stack)
{
    return stack != KYMO_EVENT_NONE ? KYMO_FILE_MEMORY_STACK : 0;
}

static void put_stack(struct kymo_row *row, uint32_t stack)
{
    if (stack != KYMO_EVENT_NONE)
        kymo_row_put_uleb(&row->numbers, stack);
}

static void put_allocation(kymo_recording_writer *w, struct kymo_row *row,
                           const kymo_event_allocation *e)
{
    kymo_row_put_change(&row->numbers, &w->memory.id, e->id);
    kymo_row_put_change(&row->numbers, &w->memory.address, e->address);
    kymo_row_put_uleb(&row->numbers, e->bytes);
    kymo_row_put_uleb(&row->numbers, e->rate);
    kymo_row_put_uleb(&row->numbers, e->slack);
    kymo_row_put_uleb(&row->numbers, e->family);
}

kymo_err kymo_recording_write_allocation(kymo_recording_writer *w, const kymo_event_allocation *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (!allocation_can_be(e))
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_stack(w, e->thread, e->stack));
    KYMO_KEEP(w, kymo_kept_allocation(w, e));
    struct kymo_row row;
    kymo_row_init(&row);
    begin_row(w, &row, KYMO_FILE_MEMORY_ALLOCATION | stack_flag(e->stack), e->time_ns);
    put_allocation(w, &row, e);
    put_stack(&row, e->stack);
    return kymo_writer_put_row(w, &w->memory, e->thread, &row);
}

kymo_err kymo_recording_write_resize(kymo_recording_writer *w, const kymo_event_resize *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (!allocation_can_be(&e->now) || e->usable_before > KYMO_FILE_BYTES_MAX)
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_stack(w, e->now.thread, e->now.stack));
    KYMO_KEEP(w, kymo_kept_resize(w, e));
    struct kymo_row row;
    kymo_row_init(&row);
    begin_row(w, &row, KYMO_FILE_MEMORY_RESIZE | stack_flag(e->now.stack), e->now.time_ns);
    put_allocation(w, &row, &e->now);
    kymo_row_put_uleb(&row.numbers, e->usable_before);
    kymo_row_put_uleb(&row.numbers, e->was_drawn);
    put_stack(&row, e->now.stack);
    return kymo_writer_put_row(w, &w->memory, e->now.thread, &row);
}

kymo_err kymo_recording_write_free(kymo_recording_writer *w, const kymo_event_free *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->time_ns == 0 || e->time_ns > KYMO_FILE_TIME_MAX)
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_thread(w, e->thread));
    KYMO_KEEP(w, kymo_kept_free(w, e));
    struct kymo_row row;
    kymo_row_init(&row);
    begin_row(w, &row, KYMO_FILE_MEMORY_FREE, e->time_ns);
    kymo_row_put_change(&row.numbers, &w->memory.id, e->id);
    kymo_row_put_change(&row.numbers, &w->memory.count, e->count);
    return kymo_writer_put_row(w, &w->memory, e->thread, &row);
}

kymo_err kymo_recording_write_mapping(kymo_recording_writer *w, const kymo_event_mapping *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->time_ns == 0 || e->time_ns > KYMO_FILE_TIME_MAX || e->bytes > KYMO_FILE_BYTES_MAX ||
        e->bytes_before > KYMO_FILE_BYTES_MAX || e->op < KYMO_MAP_MAP || e->op > KYMO_MAP_SHARED)
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_stack(w, e->thread, e->stack));
    int has_before = (e->before | e->bytes_before) != 0;
    struct kymo_row row;
    kymo_row_init(&row);
    begin_row(w, &row,
              KYMO_FILE_MEMORY_MAPPING | stack_flag(e->stack) |
                  (has_before ? KYMO_FILE_MEMORY_BEFORE : 0),
              e->time_ns);
    kymo_row_put_uleb(&row.numbers, e->op);
    kymo_row_put_uleb(&row.numbers, e->how);
    kymo_row_put_change(&row.numbers, &w->memory.address, e->address);
    kymo_row_put_uleb(&row.numbers, e->bytes);
    if (has_before) {
        kymo_row_put_uleb(&row.numbers, e->before);
        kymo_row_put_uleb(&row.numbers, e->bytes_before);
    }
    put_stack(&row, e->stack);
    return kymo_writer_put_row(w, &w->memory, e->thread, &row);
}

kymo_err kymo_recording_write_inherit(kymo_recording_writer *w, const kymo_event_inherit *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->time_ns == 0 || e->time_ns > KYMO_FILE_TIME_MAX)
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_thread(w, e->thread));
    KYMO_KEEP(w, kymo_kept_inherit(w, e));
    struct kymo_row row;
    kymo_row_init(&row);
    begin_row(w, &row, KYMO_FILE_MEMORY_INHERIT, e->time_ns);
    kymo_row_put_change(&row.numbers, &w->memory.id, e->id);
    kymo_row_put_change(&row.numbers, &w->memory.address, e->address);
    return kymo_writer_put_row(w, &w->memory, e->thread, &row);
}

/* ---- live allocations at the begin of a segment ---- */

/* Puts numbers, then texts, of each label into w->event, which is unused between events. */
static kymo_err put_labels(kymo_recording_writer *w, const kymo_event_live *e)
{
    kymo_bytes_clear(&w->event);
    w->event_error = KYMO_OK;
    for (uint32_t i = 0; i < e->label_count; i++) {
        const kymo_event_live_label *label = &e->labels[i];
        struct kymo_row_numbers numbers = {.len = 0};
        kymo_row_put_uleb(&numbers, label->kind);
        if (label->kind != KYMO_KIND_TEXT)
            kymo_row_put_uleb(&numbers, label->number);
        kymo_writer_put_bytes(w, numbers.bytes, numbers.len);
        kymo_writer_put_text(w, label->key);
        if (label->kind == KYMO_KIND_TEXT)
            kymo_writer_put_text(w, label->text);
    }
    return w->event_error;
}

static int live_can_be(const kymo_event_live *e)
{
    return e->time_ns != 0 && e->time_ns <= KYMO_FILE_TIME_MAX && e->birth_ns != 0 &&
           e->birth_ns <= e->time_ns && e->bytes <= KYMO_FILE_BYTES_MAX && e->weight >= 1 &&
           e->weight <= (double)KYMO_FILE_BYTES_MAX && e->family < KYMO_ALLOC_FAMILIES &&
           e->label_count <= KYMO_EVENT_LIVE_LABELS_MAX;
}

kymo_err kymo_recording_write_live(kymo_recording_writer *w, const kymo_event_live *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (!live_can_be(e))
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_thread(w, e->thread));
    KYMO_KEEP(w, kymo_kept_need_process_stack(w, e->stack_process, e->stack));
    uint64_t weight_bits;
    memcpy(&weight_bits, &e->weight, sizeof weight_bits);
    struct kymo_row row;
    kymo_row_init(&row);
    begin_row(w, &row,
              KYMO_FILE_MEMORY_LIVE | stack_flag(e->stack) |
                  (e->is_inherited ? KYMO_FILE_MEMORY_INHERITED : 0),
              e->time_ns);
    kymo_row_put_change(&row.numbers, &w->memory.id, e->id);
    kymo_row_put_change(&row.numbers, &w->memory.address, e->address);
    kymo_row_put_uleb(&row.numbers, e->bytes);
    kymo_row_put_uleb(&row.numbers, e->slack);
    kymo_row_put_uleb(&row.numbers, e->family);
    kymo_row_put_uleb(&row.numbers, e->time_ns - e->birth_ns);
    kymo_row_put_uleb(&row.numbers, weight_bits);
    kymo_row_put_uleb(&row.numbers, e->stack_process);
    put_stack(&row, e->stack);
    kymo_row_put_uleb(&row.numbers, e->label_count);
    kymo_err err = put_labels(w, e);
    if (err != KYMO_OK)
        return kymo_chunk_out_fail(&w->out, err);
    row.bytes = w->event.data;
    row.bytes_len = w->event.len;
    return kymo_writer_put_row(w, &w->memory, e->thread, &row);
}
