/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_memory.c - figures of a process's memory as a whole, and how many of its allocations were
 * recorded.
 */
#include "profile/ingest_heap.h"

#include <string.h>

#include "profile/ingest_state.h"
#include "profile/ledger_make.h"

/* By enum kymo_allocator. */
static const char *const allocators[] = {
    "", "glibc", "jemalloc", "tcmalloc", "mimalloc", "another library", "the program's own",
};

kymo_err kymo_ingest_memory_of(kymo_ingest *in, uint32_t process,
                               struct kymo_ingest_memory **memory)
{
    while (in->heap.processes.len <= process)
        KYMO_TRY(kymo_vec_push(&in->heap.processes, (struct kymo_ingest_memory){.rate = 0}));
    *memory = &in->heap.processes.data[process];
    return KYMO_OK;
}

kymo_err kymo_ingest_keep_waiting(kymo_ingest *in)
{
    if (in->heap.waiting >= KYMO_ALLOCATIONS_MAX)
        return KYMO_E_TOO_BIG;
    in->heap.waiting++;
    return KYMO_OK;
}

void kymo_ingest_heap_deinit(struct kymo_ingest_heap *heap)
{
    for (size_t i = 0; i < heap->processes.len; i++) {
        struct kymo_ingest_memory *m = &heap->processes.data[i];
        kymo_index_deinit(&m->block_index);
        kymo_vec_free_all(m->blocks.data, m->resizes.data, m->frees.data, m->inherits.data,
                          m->mappings.data, m->ledger.data);
    }
    kymo_vec_deinit(&heap->processes);
}

/* ---- as events come ---- */

kymo_err kymo_ingest_on_heap(void *ctx, const kymo_event_heap *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_memory *m;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_ingest_memory_of(in, e->process, &m));
    kymo_heap heap = {
        .size = sizeof heap,
        .process = e->process,
        .rate = e->rate,
        .map_least = e->map_least,
        .count = e->count,
        .bytes = e->bytes,
    };
    if (e->allocator < KYMO_ARRAY_LEN(allocators))
        KYMO_TRY(kymo_ingest_add_string(in, allocators[e->allocator], &heap.allocator));
    KYMO_TRY(kymo_ingest_add_name(in, e->not_seen, &heap.not_seen));
    m->heap = heap;
    return KYMO_OK;
}

kymo_err kymo_ingest_on_ledger(void *ctx, const kymo_event_ledger *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_memory *m;
    kymo_ledger line = {
        .size = sizeof line,
        .process = e->process,
        .line = e->line,
        .stack = KYMO_NONE,
        .bytes = e->bytes,
        .time_ns = e->time_ns,
    };
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    if (e->line == 0 || e->line >= KYMO_LEDGER_LINES)
        return KYMO_OK; /* from a later version */
    KYMO_TRY(kymo_ingest_memory_of(in, e->process, &m));
    if (m->ledger.len >= KYMO_LEDGER_MAX)
        return kymo_ingest_leave_out(in, KYMO_INGEST_MEMORY, KYMO_E_TOO_BIG);
    if (e->low <= e->high) {
        line.low = e->low;
        line.high = e->high;
    }
    KYMO_TRY(kymo_ingest_add_name(in, e->name, &line.name));
    return kymo_vec_push(&m->ledger, line);
}

kymo_err kymo_ingest_on_memory_info(void *ctx, const kymo_event_memory_info *e)
{
    kymo_ingest *in = ctx;
    kymo_memory_info info = {.process = e->process, .time_ns = e->time_ns, .value = e->value};
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_ingest_add_name(in, e->key, &info.key));
    return kymo_ingest_leave_out(in, KYMO_INGEST_MEMORY,
                                 kymo_profile_add_memory_info(in->profile, &info));
}

/* ---- at the end ---- */

static int begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* Counts losses by the names that buffer/record.h gives them: their numbers depend on the
 * version. A loss of whole records may have hit any kind of event. */
static void count_losses(const kymo_ingest *in, kymo_heap *heap)
{
    const struct kymo_ingest_process *p = &in->processes.data[heap->process];
    for (size_t i = 0; i < p->losses.len; i++) {
        const struct kymo_ingest_loss *loss = &p->losses.data[i];
        if (begins(loss->name, "allocations:"))
            heap->lost = kymo_sum(heap->lost, loss->count);
        else if (begins(loss->name, "frees:"))
            heap->lost_frees = kymo_sum(heap->lost_frees, loss->count);
        else if (begins(loss->name, "records:") && loss->count > 0)
            heap->is_partial = 1;
    }
    if (heap->lost > 0 || heap->lost_frees > 0)
        heap->is_partial = 1;
}

static kymo_err finish_process(kymo_ingest *in, uint32_t process)
{
    struct kymo_ingest_memory *m = &in->heap.processes.data[process];
    if (m->heap.size == 0 && m->blocks.len > 0)
        m->heap = (kymo_heap){.size = sizeof m->heap, .process = process};
    if (m->heap.size != 0) {
        if (m->heap.rate == 0 || (in->heap.thin.rate && m->rate > m->heap.rate))
            m->heap.rate = m->rate;
        count_losses(in, &m->heap);
        m->heap.is_partial |= in->marks.left_out[KYMO_INGEST_ALLOCATIONS] > 0;
        KYMO_TRY(kymo_profile_set_heap(in->profile, &m->heap));
    }
    return kymo_ingest_leave_out(
        in, KYMO_INGEST_MEMORY,
        kymo_ledger_make_all(in->profile, process, m->ledger.data, m->ledger.len));
}

kymo_err kymo_ingest_finish_memory(kymo_ingest *in)
{
    for (uint32_t i = 0; i < in->heap.processes.len; i++)
        KYMO_TRY(finish_process(in, i));
    return KYMO_OK;
}
