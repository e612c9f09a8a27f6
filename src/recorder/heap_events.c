/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/record.h"
#include "recorder/session_events.h"
#include "recording/recording_format.h"

static_assert(KYMO_MEMORY_BYTES_MAX <= KYMO_FILE_BYTES_MAX, "the file holds what the drain gives");

static uint32_t stack_of(uint32_t stack)
{
    return stack == KYMO_NO_STACK ? KYMO_EVENT_NONE : stack;
}

static kymo_event_allocation allocation_of(const struct kymo_session_events *to,
                                           const struct kymo_drain_alloc *a)
{
    return (kymo_event_allocation){
        .thread = kymo_session_events_thread(to, a->thread),
        .stack = stack_of(a->stack),
        .time_ns = a->time_ns,
        .id = a->id,
        .address = a->address,
        .bytes = a->bytes,
        .rate = a->rate,
        .slack = a->slack,
        .family = a->family,
    };
}

static kymo_err on_alloc(void *context, const struct kymo_drain_alloc *a)
{
    const struct kymo_session_events *to = context;
    kymo_event_allocation e = allocation_of(to, a);
    return to->events->allocation ? to->events->allocation(to->context, &e) : KYMO_OK;
}

static kymo_err on_free(void *context, uint32_t thread, uint64_t time_ns, uint64_t id,
                        uint32_t count)
{
    const struct kymo_session_events *to = context;
    kymo_event_free e = {kymo_session_events_thread(to, thread), count, time_ns, id};
    return to->events->free ? to->events->free(to->context, &e) : KYMO_OK;
}

static kymo_err on_resize(void *context, const struct kymo_drain_alloc *now, uint64_t usable_before,
                          uint32_t was_drawn)
{
    const struct kymo_session_events *to = context;
    kymo_event_resize e = {
        .now = allocation_of(to, now),
        .usable_before = usable_before,
        .was_drawn = was_drawn,
    };
    return to->events->resize ? to->events->resize(to->context, &e) : KYMO_OK;
}

/* Upper bound of what a mapping adds to the private memory of the process. */
static uint64_t mapped_by(const struct kymo_drain_map *m)
{
    if (m->how & (KYMO_MAP_BY_ALLOCATOR | KYMO_MAP_OF_FILE | KYMO_MAP_IS_SHARED))
        return 0;
    if (m->op == KYMO_MAP_MOVE)
        return m->bytes > m->bytes_before ? m->bytes - m->bytes_before : 0;
    return m->op == KYMO_MAP_MAP || m->op == KYMO_MAP_BREAK ? m->bytes : 0;
}

static kymo_err on_map(void *context, const struct kymo_drain_map *m)
{
    struct kymo_session_events *to = context;
    to->heap.mapped_bytes += mapped_by(m);
    kymo_event_mapping e = {
        .thread = kymo_session_events_thread(to, m->thread),
        .stack = stack_of(m->stack),
        .time_ns = m->time_ns,
        .address = m->address,
        .bytes = m->bytes,
        .before = m->before,
        .bytes_before = m->bytes_before,
        .op = m->op,
        .how = m->how,
    };
    return to->events->mapping ? to->events->mapping(to->context, &e) : KYMO_OK;
}

static kymo_err on_inherit(void *context, uint32_t thread, uint64_t time_ns, uint64_t id,
                           uint64_t address)
{
    const struct kymo_session_events *to = context;
    kymo_event_inherit e = {
        .thread = kymo_session_events_thread(to, thread),
        .time_ns = time_ns,
        .id = id,
        .address = address,
    };
    return to->events->inherit ? to->events->inherit(to->context, &e) : KYMO_OK;
}

const struct kymo_drain_heap_sink kymo_heap_events_sink = {
    .alloc = on_alloc,
    .free = on_free,
    .resize = on_resize,
    .map = on_map,
    .inherit = on_inherit,
};

/* ---- a process as a whole ---- */

void kymo_heap_events_module(struct kymo_heap_events *h, kymo_unseen *unseen, const char *path)
{
    const char *name = h->rate && unseen ? kymo_unseen_find(unseen, path) : NULL;
    if (!name)
        return;
    const char *slash = strrchr(path, '/');
    size_t room = sizeof h->not_seen - h->not_seen_len;
    int len = snprintf(h->not_seen + h->not_seen_len, room, "%s%s of %s",
                       h->not_seen_len ? ", " : "", name, slash ? slash + 1 : path);
    if (len > 0 && (size_t)len < room)
        h->not_seen_len += (uint32_t)len;
    else
        h->not_seen[h->not_seen_len] = '\0';
}

/* Upper bound of the allocator's overhead per allocation, for small allocations. */
#define OVERHEAD_BYTES 64u
#define MISSING_LEAST_BYTES (16u << 20)

static uint64_t add_up(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* Compares resident memory with what the hooks saw being requested. If far too little was
 * requested, some allocator is not hooked. */
static void balance(struct kymo_heap_events *h, struct kymo_drain_heap_totals totals,
                    uint64_t maps_lost)
{
    uint64_t blocks =
        totals.count > UINT64_MAX / OVERHEAD_BYTES ? UINT64_MAX : totals.count * OVERHEAD_BYTES;
    uint64_t seen = add_up(add_up(blocks, totals.bytes), h->mapped_bytes);
    h->missing_mib = 0;
    if (!h->was_off && maps_lost == 0 && h->own_bytes > MISSING_LEAST_BYTES &&
        seen < h->own_bytes / 2)
        h->missing_mib = (uint32_t)((h->own_bytes - seen) >> 20 & UINT32_MAX);
}

static const char *what_is_not_seen(const struct kymo_heap_events *h, uint32_t allocator,
                                    char text[KYMO_HEAP_EVENTS_TEXT + 128])
{
    switch (allocator) {
    case KYMO_ALLOCATOR_UNKNOWN:
        return "libkymo-preload-alloc.so is not in the process";
    case KYMO_ALLOCATOR_PROGRAM:
        return "malloc of the executable";
    default:
        break;
    }
    snprintf(text, KYMO_HEAP_EVENTS_TEXT + 128, "%s", h->not_seen);
    if (h->missing_mib)
        snprintf(text + h->not_seen_len, KYMO_HEAP_EVENTS_TEXT + 128 - h->not_seen_len,
                 "%s%u MiB from allocators that Kymo cannot hook", h->not_seen_len ? ", " : "",
                 h->missing_mib);
    return text;
}

kymo_err kymo_heap_events_tell(struct kymo_session_events *to, const kymo_drain *drain,
                               const struct kymo_session *session)
{
    struct kymo_heap_events *h = &to->heap;
    struct kymo_drain_heap_totals now = kymo_drain_heap_totals(drain);
    /* The program may have overwritten it. */
    uint32_t allocator = kymo_load_relaxed(&session->allocator);
    if (allocator > KYMO_ALLOCATOR_PROGRAM)
        allocator = KYMO_ALLOCATOR_OTHER;
    balance(h, now, kymo_load_relaxed(&session->lost[KYMO_LOSS_MAP]));
    if (h->rate == 0 || !to->events->heap ||
        (h->is_told && h->allocator == allocator && h->told_len == h->not_seen_len &&
         h->told_missing_mib == h->missing_mib && h->told.count == now.count &&
         h->told.bytes == now.bytes))
        return KYMO_OK;
    h->is_told = 1;
    h->told = now;
    h->told_len = h->not_seen_len;
    h->told_missing_mib = h->missing_mib;
    h->allocator = allocator;
    char not_seen[KYMO_HEAP_EVENTS_TEXT + 128];
    kymo_event_heap e = {
        .process = to->process,
        .allocator = allocator,
        .rate = h->rate,
        .map_least = KYMO_HEAP_EVENTS_MAP_LEAST,
        .count = now.count,
        .bytes = now.bytes,
        .not_seen = what_is_not_seen(h, allocator, not_seen),
    };
    return to->events->heap(to->context, &e);
}
