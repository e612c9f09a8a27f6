/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_heap.c - blocks as async-profiler writes them, large mappings, and what is known of a
 * process's memory.
 *
 * A reader matches an end to its beginning by the address, and adds up sizes. A block that stands
 * for others, that took another one's place when it was resized, or that its process did not
 * allocate itself, has an event beside it that says so; one without is a block that stands for
 * itself.
 */
#include <stdlib.h>

#include "encode/jfr/jfr_order.h"
#include "views/ledger_lines.h"

#define ADDRESS                                                            \
    {                                                                      \
        .name = "address", .type = KYMO_JFR_LONG, .note = KYMO_JFR_ADDRESS \
    }
#define SIZE                                                          \
    {                                                                 \
        .name = "size", .type = KYMO_JFR_LONG, .note = KYMO_JFR_BYTES \
    }
#define PID                                  \
    {                                        \
        .name = "pid", .type = KYMO_JFR_LONG \
    }
#define BYTES(field)                                                   \
    {                                                                  \
        .name = (field), .type = KYMO_JFR_LONG, .note = KYMO_JFR_BYTES \
    }

KYMO_JFR_EVENT(malloc_event, "profiler.Malloc", KYMO_JFR_MALLOC, KYMO_JFR_START,
               KYMO_JFR_EVENT_THREAD, KYMO_JFR_STACK, ADDRESS, SIZE);
KYMO_JFR_EVENT(free_event, "profiler.Free", KYMO_JFR_FREE, KYMO_JFR_START, KYMO_JFR_EVENT_THREAD,
               KYMO_JFR_STACK, ADDRESS);
KYMO_JFR_EVENT(weight_event, "kymo.MallocWeight", KYMO_JFR_MALLOC_WEIGHT, KYMO_JFR_START,
               KYMO_JFR_EVENT_THREAD, ADDRESS, {.name = "weight", .type = KYMO_JFR_DOUBLE},
               {.name = "allocations", .type = KYMO_JFR_INT}, BYTES("allocated"));
KYMO_JFR_EVENT(mapping_event, "kymo.Mapping", KYMO_JFR_MAPPING, KYMO_JFR_START, KYMO_JFR_DURATION,
               KYMO_JFR_EVENT_THREAD, KYMO_JFR_STACK, ADDRESS, SIZE,
               {.name = "byAllocator", .type = KYMO_JFR_BOOLEAN});
KYMO_JFR_EVENT(heap_event, "kymo.Heap", KYMO_JFR_HEAP, KYMO_JFR_START, PID, BYTES("rate"),
               {.name = "allocations", .type = KYMO_JFR_LONG}, BYTES("allocated"),
               {.name = "lost", .type = KYMO_JFR_LONG},
               {.name = "lostFrees", .type = KYMO_JFR_LONG},
               {.name = "isPartial", .type = KYMO_JFR_BOOLEAN},
               {.name = "allocator", .type = KYMO_JFR_STRING},
               {.name = "notSeen", .type = KYMO_JFR_STRING});
KYMO_JFR_EVENT(info_event, "kymo.MemoryInfo", KYMO_JFR_MEMORY_INFO, KYMO_JFR_START, PID,
               {.name = "key", .type = KYMO_JFR_STRING}, {.name = "value", .type = KYMO_JFR_LONG});

KYMO_JFR_EVENT(use_event, "kymo.MemoryUse", KYMO_JFR_MEMORY_USE, KYMO_JFR_START, KYMO_JFR_STACK,
               PID, {.name = "line", .type = KYMO_JFR_STRING},
               {.name = "part", .type = KYMO_JFR_STRING}, BYTES("bytes"), BYTES("low"),
               BYTES("high"));

static void number(kymo_jfr *w, uint64_t value)
{
    kymo_jfr_varint(&w->events, value);
}

static uint64_t pid_of(const kymo_jfr *w, uint32_t process)
{
    return (uint64_t)w->p->processes.data[process].pid;
}

/* ---- blocks ---- */

kymo_err kymo_jfr_heap_init(kymo_jfr *w)
{
    w->heaps = calloc(w->p->processes.len + 1, sizeof *w->heaps);
    if (!w->heaps)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < w->p->processes.len; i++) {
        kymo_jfr_heap *heap = &w->heaps[i];
        size_t count;
        const kymo_allocation *rows = kymo_profile_allocations(w->p, i, &count);
        if (count == 0)
            continue;
        KYMO_TRY(kymo_heap_walk_init(&heap->walk, rows, count));
        heap->weights = kymo_heap_last_weights(rows, count);
        heap->is_there = 1;
        if (!heap->weights)
            return KYMO_E_NOMEM;
    }
    return KYMO_OK;
}

void kymo_jfr_heap_deinit(kymo_jfr *w)
{
    for (uint32_t i = 0; w->heaps && i < w->p->processes.len; i++)
        if (w->heaps[i].is_there) {
            kymo_heap_walk_deinit(&w->heaps[i].walk);
            free(w->heaps[i].weights);
        }
    free(w->heaps);
}

static void put_weight(kymo_jfr *w, const kymo_jfr_heap *heap, uint32_t row, uint64_t time_ns)
{
    const kymo_allocation *a = &heap->walk.rows[row];
    uint64_t bytes;
    unsigned blocks = kymo_allocation_adds(heap->walk.rows, row, &bytes);
    int is_itself = heap->weights[row] > 1 || heap->weights[row] < 1 ? 0 : blocks == 1;
    if (is_itself && bytes == a->bytes)
        return;
    size_t begin = kymo_jfr_begin(w, &weight_event);
    number(w, time_ns);
    number(w, kymo_jfr_thread_key(&w->pools, a->thread));
    number(w, a->address);
    kymo_jfr_double(&w->events, heap->weights[row]);
    number(w, blocks);
    number(w, bytes);
    kymo_jfr_end(w, begin);
}

static void put_malloc(kymo_jfr *w, const kymo_allocation *a, uint64_t time_ns)
{
    size_t begin = kymo_jfr_begin(w, &malloc_event);
    number(w, time_ns);
    number(w, kymo_jfr_thread_key(&w->pools, a->thread));
    number(w, kymo_jfr_stack_key(&w->pools, a->stack));
    number(w, a->address);
    number(w, a->bytes);
    kymo_jfr_end(w, begin);
}

/* The stack of an end is not recorded. */
static void put_free(kymo_jfr *w, const kymo_allocation *a, uint64_t time_ns)
{
    uint32_t thread = a->end_thread < w->p->threads.len ? a->end_thread : a->thread;
    size_t begin = kymo_jfr_begin(w, &free_event);
    number(w, time_ns);
    number(w, kymo_jfr_thread_key(&w->pools, thread));
    number(w, 0);
    number(w, a->address);
    kymo_jfr_end(w, begin);
}

static int look_at_blocks(kymo_jfr *w, kymo_jfr_source *source)
{
    kymo_jfr_heap *heap = &w->heaps[source->of];
    if (!heap->is_there || !kymo_heap_walk_next(&heap->walk, &heap->step))
        return 0;
    source->time_ns = kymo_since_origin(w->p, heap->step.time_ns);
    return 1;
}

static void put_block(kymo_jfr *w, kymo_jfr_source *source)
{
    const kymo_jfr_heap *heap = &w->heaps[source->of];
    const kymo_allocation *a = &heap->walk.rows[heap->step.row];
    if (heap->step.is_end) {
        put_free(w, a, source->time_ns);
        return;
    }
    put_malloc(w, a, source->time_ns);
    put_weight(w, heap, heap->step.row, source->time_ns);
}

const kymo_jfr_source_kind kymo_jfr_blocks = {KYMO_TABLE_PROCESSES, look_at_blocks, put_block};

/* ---- mappings ---- */

static int look_at_mappings(kymo_jfr *w, kymo_jfr_source *source)
{
    size_t count;
    const kymo_mapping *rows = kymo_profile_mappings(w->p, source->of, &count);
    if (source->next >= count)
        return 0;
    source->time_ns = kymo_since_origin(w->p, rows[source->next].time_ns);
    return 1;
}

static void put_mapping(kymo_jfr *w, kymo_jfr_source *source)
{
    size_t count;
    const kymo_mapping *m = &kymo_profile_mappings(w->p, source->of, &count)[source->next++];
    uint64_t end_ns = m->end_ns != KYMO_LIVES ? kymo_since_origin(w->p, m->end_ns) : w->end_ns;
    size_t begin = kymo_jfr_begin(w, &mapping_event);
    number(w, source->time_ns);
    number(w, end_ns > source->time_ns ? end_ns - source->time_ns : 0);
    number(w, kymo_jfr_thread_key(&w->pools, m->thread));
    number(w, kymo_jfr_stack_key(&w->pools, m->stack));
    number(w, m->address);
    number(w, m->bytes);
    kymo_jfr_u8(&w->events, m->how & 1);
    kymo_jfr_end(w, begin);
}

const kymo_jfr_source_kind kymo_jfr_mappings = {KYMO_TABLE_PROCESSES, look_at_mappings,
                                                put_mapping};

/* ---- what is known of a process's memory ---- */

static void put_heap(kymo_jfr *w, const kymo_heap *heap)
{
    size_t begin = kymo_jfr_begin(w, &heap_event);
    number(w, w->start_ns);
    number(w, pid_of(w, heap->process));
    number(w, heap->rate);
    number(w, heap->count);
    number(w, heap->bytes);
    number(w, heap->lost);
    number(w, heap->lost_frees);
    kymo_jfr_u8(&w->events, heap->is_partial != 0);
    kymo_jfr_put_string(w, heap->allocator);
    kymo_jfr_put_string(w, heap->not_seen);
    kymo_jfr_end(w, begin);
}

static void put_info(kymo_jfr *w, const kymo_memory_info *info)
{
    size_t begin = kymo_jfr_begin(w, &info_event);
    kymo_jfr_put_time(w, info->time_ns);
    number(w, pid_of(w, info->process));
    kymo_jfr_put_string(w, info->key);
    number(w, info->value);
    kymo_jfr_end(w, begin);
}

/* One line of what the resident memory is made of; without a part, the line as a whole. */
static void put_use(kymo_jfr *w, const kymo_ledger *line)
{
    size_t begin = kymo_jfr_begin(w, &use_event);
    kymo_jfr_put_time(w, line->time_ns);
    number(w, line->stack != KYMO_NONE ? kymo_jfr_stack_key(&w->pools, line->stack) : 0);
    number(w, pid_of(w, line->process));
    kymo_jfr_cstr(&w->events, kymo_ledger_line_word(line->line));
    if (line->name)
        kymo_jfr_put_string(w, line->name);
    else
        kymo_jfr_cstr(&w->events, NULL);
    number(w, (uint64_t)line->bytes);
    number(w, line->low);
    number(w, line->high);
    kymo_jfr_end(w, begin);
}

kymo_err kymo_jfr_put_memory(kymo_jfr *w)
{
    size_t infos, lines;
    const kymo_ledger *line = kymo_profile_ledger(w->p, &lines);
    const kymo_memory_info *info = kymo_profile_memory_infos(w->p, &infos);
    for (uint32_t i = 0; i < w->p->processes.len; i++) {
        const kymo_heap *heap = kymo_profile_heap(w->p, i);
        if (heap)
            put_heap(w, heap);
    }
    for (size_t i = 0; i < lines; i++) {
        put_use(w, &line[i]);
        KYMO_TRY(kymo_jfr_pass_on(w, w->start_ns));
    }
    for (size_t i = 0; i < infos; i++) {
        put_info(w, &info[i]);
        KYMO_TRY(kymo_jfr_pass_on(w, w->start_ns));
    }
    return KYMO_OK;
}
