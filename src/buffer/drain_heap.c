/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_heap.c - the drain's records of memory.
 *
 * A record is copied, then checked and handed on in the copy.
 */
#include "buffer/drain_heap.h"

#include <string.h>

#include "base/atomic.h"
#include "buffer/drain_state.h"

#define HOW_MASK (KYMO_MAP_BY_ALLOCATOR | KYMO_MAP_OF_FILE | KYMO_MAP_IS_SHARED | KYMO_MAP_IS_STACK)

union heap_record {
    struct kymo_record head;
    struct kymo_record_alloc alloc;
    struct kymo_record_free free;
    struct kymo_record_resize resize;
    struct kymo_record_map map;
    struct kymo_record_inherit inherit;
};

static kymo_err corrupt(kymo_drain *d)
{
    d->noticed[KYMO_LOSS_CORRUPT]++;
    return KYMO_OK;
}

static uint32_t size_of_kind(uint32_t kind)
{
    switch (kind) {
    case KYMO_RECORD_ALLOC:
        return sizeof(struct kymo_record_alloc);
    case KYMO_RECORD_FREE:
        return sizeof(struct kymo_record_free);
    case KYMO_RECORD_RESIZE:
        return sizeof(struct kymo_record_resize);
    case KYMO_RECORD_MAP:
        return sizeof(struct kymo_record_map);
    case KYMO_RECORD_INHERIT:
        return sizeof(struct kymo_record_inherit);
    default:
        return 0;
    }
}

static kymo_err find_stack(kymo_drain *d, uint32_t id, uint32_t *stack)
{
    *stack = KYMO_NO_STACK;
    return id ? kymo_drain_read_stack(d, id, stack) : KYMO_OK;
}

static int alloc_can_be(const struct kymo_record_alloc *r)
{
    return r->bytes <= KYMO_MEMORY_BYTES_MAX && r->rate != 0 &&
           (r->slack_family & 0xff) < KYMO_ALLOC_FAMILIES;
}

static kymo_err fill_alloc(kymo_drain *d, uint32_t thread, const struct kymo_record_alloc *r,
                           struct kymo_drain_alloc *out)
{
    *out = (struct kymo_drain_alloc){
        .thread = thread,
        .time_ns = kymo_drain_time_ns(d, r->head.clock),
        .id = r->id,
        .address = r->address,
        .bytes = r->bytes,
        .rate = r->rate,
        .slack = r->slack_family >> 8,
        .family = r->slack_family & 0xff,
    };
    return find_stack(d, r->head.stack, &out->stack);
}

static kymo_err read_alloc(kymo_drain *d, uint32_t thread, const struct kymo_record_alloc *r)
{
    struct kymo_drain_alloc alloc;
    if (!alloc_can_be(r))
        return corrupt(d);
    KYMO_TRY(fill_alloc(d, thread, r, &alloc));
    return d->sink.heap->alloc(d->sink.context, &alloc);
}

static kymo_err read_resize(kymo_drain *d, uint32_t thread, const struct kymo_record_resize *r)
{
    struct kymo_drain_alloc now;
    if (!alloc_can_be(&r->now) || r->usable_before > KYMO_MEMORY_BYTES_MAX || r->was_drawn == 0 ||
        r->was_drawn > 3)
        return corrupt(d);
    KYMO_TRY(fill_alloc(d, thread, &r->now, &now));
    return d->sink.heap->resize(d->sink.context, &now, r->usable_before, (uint32_t)r->was_drawn);
}

static kymo_err read_map(kymo_drain *d, uint32_t thread, const struct kymo_record_map *r)
{
    if (r->op < KYMO_MAP_MAP || r->op > KYMO_MAP_SHARED)
        return corrupt(d);
    /* What takes away is written before the kernel has judged it: this it refuses. */
    if (r->bytes > KYMO_MEMORY_BYTES_MAX || r->bytes_before > KYMO_MEMORY_BYTES_MAX)
        return KYMO_OK;
    struct kymo_drain_map map = {
        .thread = thread,
        .time_ns = kymo_drain_time_ns(d, r->head.clock),
        .address = r->address,
        .bytes = r->bytes,
        .before = r->before,
        .bytes_before = r->bytes_before,
        .op = r->op,
        .how = r->how & HOW_MASK,
    };
    KYMO_TRY(find_stack(d, r->head.stack, &map.stack));
    return d->sink.heap->map(d->sink.context, &map);
}

kymo_err kymo_drain_read_heap(kymo_drain *d, uint32_t thread, uint32_t kind, const char *at,
                              uint32_t size)
{
    union heap_record r;
    const struct kymo_drain_heap_sink *sink = d->sink.heap;
    if (!sink)
        return KYMO_OK;
    if (size != size_of_kind(kind))
        return corrupt(d);
    memcpy(&r, at, size);
    switch (kind) {
    case KYMO_RECORD_ALLOC:
        return read_alloc(d, thread, &r.alloc);
    case KYMO_RECORD_FREE:
        return sink->free(d->sink.context, thread, kymo_drain_time_ns(d, r.head.clock), r.free.id,
                          r.head.stack);
    case KYMO_RECORD_RESIZE:
        return read_resize(d, thread, &r.resize);
    case KYMO_RECORD_MAP:
        return read_map(d, thread, &r.map);
    default:
        return sink->inherit(d->sink.context, thread, kymo_drain_time_ns(d, r.head.clock),
                             r.inherit.id, r.inherit.address);
    }
}

/* ---- beside the streams ---- */

static void add_totals(struct kymo_drain_heap_totals *totals, const struct kymo_thread_slot *slot)
{
    totals->count += kymo_load_relaxed(&slot->alloc_count);
    totals->bytes += kymo_load_relaxed(&slot->alloc_bytes);
}

void kymo_drain_end_heap(kymo_drain *d, const struct kymo_thread_slot *slot)
{
    add_totals(&d->heap_ended, slot);
}

struct kymo_drain_heap_totals kymo_drain_heap_totals(const kymo_drain *d)
{
    struct kymo_drain_heap_totals totals = d->heap_ended;
    for (uint32_t i = 0; i < d->slots_seen; i++)
        if (d->slots[i].open)
            add_totals(&totals, kymo_session_slot(d->session, &d->plan, i));
    return totals;
}
