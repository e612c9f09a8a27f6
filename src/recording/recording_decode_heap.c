/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_heap.c - chunks of memory events.
 *
 * Allocation ids are chosen by the program and passed on unchanged: code that matches frees with
 * allocations must expect any value.
 */
#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recording/recording_decode_rows.h"

/* Members that all rows have, then those of each kind. Ids as in the file. */
struct memory_row {
    uint32_t what;
    int values_can_be;
    kymo_event_resize resize; /* also for an allocation */
    kymo_event_free free;
    kymo_event_mapping mapping;
    kymo_event_inherit inherit;
    kymo_event_live live;
};

static void read_allocation(struct kymo_rows *rows, struct memory_row *m)
{
    kymo_event_allocation *e = &m->resize.now;
    e->id = kymo_read_change(rows, &rows->id);
    e->address = kymo_read_change(rows, &rows->address);
    e->bytes = kymo_read_uleb(&rows->row);
    e->rate = kymo_read_uleb(&rows->row);
    e->slack = kymo_read_u32_leb(&rows->row);
    e->family = kymo_read_u32_leb(&rows->row);
    if (m->what == KYMO_FILE_MEMORY_RESIZE) {
        m->resize.usable_before = kymo_read_uleb(&rows->row);
        m->resize.was_drawn = kymo_read_u32_leb(&rows->row);
    }
    m->values_can_be &= e->bytes <= KYMO_FILE_BYTES_MAX && e->rate != 0 &&
                        e->rate <= KYMO_FILE_BYTES_MAX && e->family < KYMO_ALLOC_FAMILIES &&
                        m->resize.usable_before <= KYMO_FILE_BYTES_MAX;
}

static void read_mapping(struct kymo_rows *rows, struct memory_row *m, uint64_t flags)
{
    kymo_event_mapping *e = &m->mapping;
    e->op = kymo_read_u32_leb(&rows->row);
    e->how = kymo_read_u32_leb(&rows->row);
    e->address = kymo_read_change(rows, &rows->address);
    e->bytes = kymo_read_uleb(&rows->row);
    if (flags & KYMO_FILE_MEMORY_BEFORE) {
        e->before = kymo_read_uleb(&rows->row);
        e->bytes_before = kymo_read_uleb(&rows->row);
    }
    m->values_can_be &= e->bytes <= KYMO_FILE_BYTES_MAX && e->bytes_before <= KYMO_FILE_BYTES_MAX &&
                        e->op >= KYMO_MAP_MAP && e->op <= KYMO_MAP_SHARED;
}

static void read_live(struct kymo_rows *rows, struct memory_row *m, uint64_t flags,
                      uint64_t time_ns)
{
    kymo_event_live *e = &m->live;
    e->id = kymo_read_change(rows, &rows->id);
    e->address = kymo_read_change(rows, &rows->address);
    e->bytes = kymo_read_uleb(&rows->row);
    e->slack = kymo_read_u32_leb(&rows->row);
    e->family = kymo_read_u32_leb(&rows->row);
    uint64_t age_ns = kymo_read_uleb(&rows->row);
    uint64_t weight_bits = kymo_read_uleb(&rows->row);
    e->stack_process = kymo_read_u32_leb(&rows->row);
    memcpy(&e->weight, &weight_bits, sizeof e->weight);
    e->birth_ns = time_ns - age_ns;
    e->is_inherited = (flags & KYMO_FILE_MEMORY_INHERITED) != 0;
    m->values_can_be &= age_ns < time_ns && e->bytes <= KYMO_FILE_BYTES_MAX && e->weight >= 1 &&
                        e->weight <= (double)KYMO_FILE_BYTES_MAX && e->family < KYMO_ALLOC_FAMILIES;
}

/* The labels come after the stack, which is the last member of all rows. */
static void read_live_labels(struct kymo_rows *rows, struct memory_row *m,
                             kymo_event_live_label labels[KYMO_EVENT_LIVE_LABELS_MAX])
{
    kymo_reader *r = &rows->row;
    uint32_t count = kymo_read_u32_leb(r);
    if (count > KYMO_EVENT_LIVE_LABELS_MAX)
        r->failed = 1;
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        kymo_event_live_label *label = &labels[i];
        *label = (kymo_event_live_label){.kind = kymo_read_u32_leb(r)};
        int is_text = label->kind == KYMO_KIND_TEXT;
        if (!is_text)
            label->number = kymo_read_uleb(r);
        label->key = kymo_read_text(r);
        if (is_text)
            label->text = kymo_read_text(r);
    }
    m->live.label_count = r->failed ? 0 : count;
    m->live.labels = labels;
}

static void read_row(struct kymo_rows *rows, struct memory_row *m,
                     kymo_event_live_label labels[KYMO_EVENT_LIVE_LABELS_MAX])
{
    uint64_t flags = kymo_read_uleb(&rows->row);
    uint64_t time_ns = kymo_read_change(rows, &rows->time_ns);
    uint32_t stack = KYMO_EVENT_NONE;
    m->what = (uint32_t)(flags & KYMO_FILE_MEMORY_WHAT);
    m->values_can_be = kymo_decode_time_is_there(time_ns);
    switch (m->what) {
    case KYMO_FILE_MEMORY_ALLOCATION:
    case KYMO_FILE_MEMORY_RESIZE:
        read_allocation(rows, m);
        break;
    case KYMO_FILE_MEMORY_FREE:
        m->free.id = kymo_read_change(rows, &rows->id);
        m->free.count = (uint32_t)kymo_read_change(rows, &rows->count);
        break;
    case KYMO_FILE_MEMORY_MAPPING:
        read_mapping(rows, m, flags);
        break;
    case KYMO_FILE_MEMORY_INHERIT:
        m->inherit.id = kymo_read_change(rows, &rows->id);
        m->inherit.address = kymo_read_change(rows, &rows->address);
        break;
    case KYMO_FILE_MEMORY_LIVE:
        read_live(rows, m, flags, time_ns);
        break;
    default:
        m->values_can_be = 0;
        break;
    }
    if (flags & KYMO_FILE_MEMORY_STACK)
        stack = kymo_read_u32_leb(&rows->row);
    if (m->what == KYMO_FILE_MEMORY_LIVE)
        read_live_labels(rows, m, labels);
    m->resize.now.stack = m->mapping.stack = m->live.stack = stack;
    m->resize.now.time_ns = m->free.time_ns = m->mapping.time_ns = m->inherit.time_ns =
        m->live.time_ns = time_ns;
}

static kymo_err decode_memory(kymo_decoder *d, struct kymo_rows *rows)
{
    struct memory_row m = {.what = 0};
    kymo_event_live_label labels[KYMO_EVENT_LIVE_LABELS_MAX];
    uint32_t thread;
    read_row(rows, &m, labels);
    if (rows->row.failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, rows->owner, &thread))
        return kymo_decode_drop(&d->damage.references);
    if (!m.values_can_be)
        return kymo_decode_drop(&d->damage.values);
    uint32_t process = d->thread_process.data[thread];
    m.resize.now.thread = m.free.thread = m.mapping.thread = m.inherit.thread = m.live.thread =
        thread;
    switch (m.what) {
    case KYMO_FILE_MEMORY_ALLOCATION:
        kymo_decode_find_or_leave_out(d, &d->stacks, process, &m.resize.now.stack);
        return KYMO_DELIVER(d, allocation, &m.resize.now);
    case KYMO_FILE_MEMORY_RESIZE:
        kymo_decode_find_or_leave_out(d, &d->stacks, process, &m.resize.now.stack);
        return KYMO_DELIVER(d, resize, &m.resize);
    case KYMO_FILE_MEMORY_FREE:
        return KYMO_DELIVER(d, free, &m.free);
    case KYMO_FILE_MEMORY_MAPPING:
        kymo_decode_find_or_leave_out(d, &d->stacks, process, &m.mapping.stack);
        return KYMO_DELIVER(d, mapping, &m.mapping);
    case KYMO_FILE_MEMORY_LIVE:
        if (!kymo_id_map_find(&d->processes, 0, m.live.stack_process, &m.live.stack_process))
            return kymo_decode_drop(&d->damage.references);
        kymo_decode_find_or_leave_out(d, &d->stacks, m.live.stack_process, &m.live.stack);
        return KYMO_DELIVER(d, live, &m.live);
    default:
        return KYMO_DELIVER(d, inherit, &m.inherit);
    }
}

kymo_err kymo_decode_memory(kymo_decoder *d, kymo_reader *r)
{
    return kymo_decode_rows(d, r, decode_memory);
}

/* ---- memory of a process as a whole ---- */

kymo_err kymo_decode_heap(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_heap e;
    if (!kymo_read_event(r, KYMO_CHUNK_HEAP, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (e.rate > KYMO_FILE_BYTES_MAX || e.map_least > KYMO_FILE_BYTES_MAX)
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, heap, &e);
}

kymo_err kymo_decode_ledger(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_ledger e;
    if (!kymo_read_event(r, KYMO_CHUNK_LEDGER, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    /* A line that this reader does not know is in none of its sums. */
    int64_t most = (int64_t)KYMO_FILE_BYTES_MAX;
    if (e.line == 0 || e.line >= KYMO_LEDGER_LINES || !kymo_decode_time_is_there(e.time_ns) ||
        e.bytes > most || e.bytes < -most || e.low > KYMO_FILE_BYTES_MAX ||
        e.high > KYMO_FILE_BYTES_MAX)
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, ledger, &e);
}

kymo_err kymo_decode_memory_info(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_memory_info e;
    if (!kymo_read_event(r, KYMO_CHUNK_MEMORY_INFO, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_there(e.time_ns) || e.key[0] == '\0')
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, memory_info, &e);
}
