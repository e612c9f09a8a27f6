/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_heap.c - allocations become rows; later events of an allocation find its row by id.
 *
 * Records of one thread come in order, those of several threads do not: a free may come before its
 * allocation. An id belongs to one allocation from its begin to its end, even if a resize moves it.
 * So an allocation becomes a row at once, and a free of a known id ends that row at once. Two kinds
 * of events wait until the end of the recording: frees of unknown ids, and all resizes, which are
 * then applied in order of time. A resize splits the row that is current at its time: what comes
 * later, including the end, belongs to the new row.
 *
 * A forked process has the allocations of its parent. It reports them one by one, some time after
 * the fork; a free or resize of one that it has not reported yet implies it. The row of such an
 * allocation is a copy of the parent's row at the time of the fork. Processes are finished in the
 * order in which they began, so the parent's rows exist.
 */
#include "profile/ingest_heap.h"

#include <stdlib.h>
#include <string.h>

#include "profile/estimate.h"
#include "profile/ingest_state.h"
#include "profile/tables.h"
#include "profile/time_order.h"

#define ANCESTORS_MAX 64u     /* ancestors that are searched for an allocation */
#define FORGET_LEAST 16384    /* events that wait for an allocation in a thinned recording */
#define RESIZES_BACK_MAX 4096 /* rows that are looked at to find the one of a time */

/* ---- rows ---- */

static kymo_allocation *row_of(const kymo_ingest *in, uint32_t process, uint32_t row)
{
    return &in->profile->allocations.data[process].rows.data[row];
}

/* The first row of an allocation; KYMO_NONE: not known. */
static uint32_t find_block(const kymo_ingest *in, uint32_t process, uint64_t id)
{
    uint32_t found;
    if (process >= in->heap.processes.len)
        return KYMO_NONE;
    const struct kymo_ingest_memory *m = &in->heap.processes.data[process];
    uint64_t hash = kymo_hash_words(&id, 1, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&m->block_index, hash, &probe, &found);)
        if (m->blocks.data[found].id == id)
            return found;
    return KYMO_NONE;
}

/* first: the first row of the same id, KYMO_NONE if there is none. All allocation rows of a
 * profile are added here, so row numbers are also indices into m->blocks. */
static kymo_err add_row(kymo_ingest *in, uint32_t process, uint64_t id, uint32_t first,
                        const kymo_allocation *a, uint32_t *row)
{
    struct kymo_ingest_memory *m;
    *row = KYMO_NONE;
    KYMO_TRY(kymo_ingest_memory_of(in, process, &m));
    KYMO_TRY(kymo_profile_add_allocation(in->profile, process, a, row));
    KYMO_TRY(kymo_vec_push(&m->blocks, (struct kymo_ingest_block){.id = id, .last = *row}));
    if (first == KYMO_NONE)
        return kymo_index_put(&m->block_index, kymo_hash_words(&id, 1, kymo_hash_secret()), *row);
    m->blocks.data[first].last = *row;
    return KYMO_OK;
}

/* UINT64_MAX means "no time", so it becomes the time before it. */
static uint64_t time_of(uint64_t time_ns)
{
    return time_ns < KYMO_LIVES ? time_ns : KYMO_LIVES - 1;
}

static kymo_allocation plain_row(const kymo_ingest *in, const kymo_event_allocation *e)
{
    return (kymo_allocation){
        .time_ns = time_of(e->time_ns),
        .end_ns = KYMO_LIVES,
        .birth_ns = time_of(e->time_ns),
        .address = e->address,
        .bytes = e->bytes,
        .weight = kymo_estimate_weight(e->bytes, e->rate),
        .slack = e->slack,
        .thread = e->thread,
        .end_thread = KYMO_NONE,
        .distance = UINT32_MAX,
        .stack = kymo_ingest_stack_id(in, e->stack),
        .labels = KYMO_NONE,
        .previous = KYMO_NONE,
        .family = e->family < KYMO_FAMILY_COUNT ? (uint16_t)e->family : KYMO_FAMILY_MALLOC,
    };
}

static int is_valid(const kymo_ingest *in, const kymo_event_allocation *e)
{
    return e->thread < in->threads.len && kymo_ingest_has_stack(in, e->stack);
}

static uint32_t process_of(const kymo_ingest *in, uint32_t thread)
{
    return in->profile->threads.data[thread].process;
}

static void end_row(kymo_allocation *row, uint64_t time_ns, uint32_t thread)
{
    row->end_ns = time_ns > row->time_ns ? time_of(time_ns) : row->time_ns;
    row->end_thread = thread;
}

/* ---- as events come ---- */

static kymo_err add_block(kymo_ingest *in, uint32_t process, const kymo_event_allocation *e)
{
    struct kymo_ingest_memory *m;
    kymo_allocation a = plain_row(in, e);
    uint32_t row;
    KYMO_TRY(kymo_ingest_memory_of(in, process, &m));
    if (e->rate > m->rate)
        m->rate = e->rate;
    if (!(a.weight > 0))
        return KYMO_OK; /* an allocation of 0 bytes is never sampled */
    uint32_t first = find_block(in, process, e->id);
    if (first != KYMO_NONE) { /* ids are never reused: the old one has ended */
        kymo_allocation *old = row_of(in, process, m->blocks.data[first].last);
        if (old->end_ns == KYMO_LIVES)
            end_row(old, e->time_ns, KYMO_NONE);
    }
    return add_row(in, process, e->id, first, &a, &row);
}

static void free_block(kymo_ingest *in, uint32_t process, uint32_t first, const kymo_event_free *e)
{
    uint32_t last = in->heap.processes.data[process].blocks.data[first].last;
    kymo_allocation *row = row_of(in, process, last);
    const kymo_allocation *born = row_of(in, process, first);
    if (row->end_ns != KYMO_LIVES)
        return;
    end_row(row, e->time_ns, e->thread);
    /* The lower half of an id is the thread's count of allocations. */
    if (born->thread == e->thread && born->origin == KYMO_ORIGIN_HERE)
        row->distance = e->count - (uint32_t)e->id;
}

/* For a thinned recording: whether the allocation is known, in this process or in one that it
 * was forked from. */
static uint32_t parent_of(const kymo_ingest *in, uint32_t process);

static int is_kept(kymo_ingest *in, uint32_t process, uint64_t id)
{
    for (uint32_t i = 0; i < ANCESTORS_MAX; i++) {
        if (find_block(in, process, id) != KYMO_NONE)
            return 1;
        if (process >= in->heap.processes.len)
            return 0;
        struct kymo_ingest_memory *m = &in->heap.processes.data[process];
        if (m->parent == 0)
            m->parent = parent_of(in, process) + 2; /* KYMO_NONE + 2 is 1 */
        if (m->parent == 1)
            return 0;
        process = m->parent - 2;
    }
    return 0;
}

kymo_err kymo_ingest_on_allocation(void *ctx, const kymo_event_allocation *event)
{
    kymo_ingest *in = ctx;
    kymo_event_allocation copy = *event;
    const kymo_event_allocation *e = &copy;
    if (!is_valid(in, e))
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    if (!kymo_ingest_thin_allocation(&in->heap.thin, &copy))
        return KYMO_OK;
    return kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS,
                                 add_block(in, process_of(in, e->thread), e));
}

/* Limits the events that wait for an allocation which may still be read: records of other
 * threads and of the parent come at most some rounds later. In a thinned recording most never
 * come, so events that have waited for long are dropped. */
#define FORGET(events)                                                  \
    do {                                                                \
        size_t kept = 0;                                                \
        size_t old = (events)->len / 2;                                 \
        for (size_t i = 0; i < (events)->len; i++)                      \
            if (i >= old || is_kept(in, process, (events)->data[i].id)) \
                (events)->data[kept++] = (events)->data[i];             \
        in->heap.waiting -= (events)->len - kept;                       \
        (events)->len = kept;                                           \
    } while (0)

static void forget_missing(kymo_ingest *in, uint32_t process)
{
    struct kymo_ingest_memory *m = &in->heap.processes.data[process];
    size_t count = m->frees.len + m->inherits.len;
    if (in->heap.thin.rate == 0 || count < 2 * (m->forgotten_at + FORGET_LEAST))
        return;
    FORGET(&m->frees);
    FORGET(&m->inherits);
    m->forgotten_at = m->frees.len + m->inherits.len;
}

kymo_err kymo_ingest_on_free(void *ctx, const kymo_event_free *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_memory *m;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    uint32_t process = process_of(in, e->thread);
    kymo_ingest_see_time(in, e->time_ns);
    uint32_t first = find_block(in, process, e->id);
    if (first != KYMO_NONE) {
        free_block(in, process, first, e);
        return KYMO_OK;
    }
    KYMO_TRY(kymo_ingest_memory_of(in, process, &m));
    forget_missing(in, process);
    kymo_err err = kymo_ingest_keep_waiting(in);
    if (err == KYMO_OK)
        err = kymo_vec_push(&m->frees, *e);
    return kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS, err);
}

kymo_err kymo_ingest_on_resize(void *ctx, const kymo_event_resize *event)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_memory *m;
    kymo_event_resize copy = *event;
    const kymo_event_resize *e = &copy;
    if (!is_valid(in, &e->now))
        return KYMO_E_INVALID;
    uint32_t process = process_of(in, e->now.thread);
    if (in->heap.thin.rate &&
        !kymo_ingest_thin_resize(&in->heap.thin, &copy, is_kept(in, process, e->now.id))) {
        kymo_ingest_see_time(in, e->now.time_ns);
        return KYMO_OK;
    }
    /* If it was not sampled before, nothing is known of it: the row begins here. */
    if (!(e->was_drawn & KYMO_RESIZE_DRAWN_BEFORE))
        return kymo_ingest_on_allocation(in, &e->now);
    kymo_ingest_see_time(in, e->now.time_ns);
    KYMO_TRY(kymo_ingest_memory_of(in, process, &m));
    kymo_err err = kymo_ingest_keep_waiting(in);
    if (err == KYMO_OK)
        err = kymo_vec_push(&m->resizes, *e);
    return kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS, err);
}

static kymo_err live_labels(kymo_ingest *in, const kymo_event_live *e, uint32_t *set)
{
    kymo_label labels[KYMO_EVENT_LIVE_LABELS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->label_count && i < KYMO_EVENT_LIVE_LABELS_MAX; i++) {
        const kymo_event_live_label *from = &e->labels[i];
        kymo_label *label = &labels[count];
        *label = (kymo_label){.value = {.as.u64 = from->number}};
        KYMO_TRY(kymo_ingest_add_name(in, from->key, &label->key));
        KYMO_TRY(kymo_ingest_label_value(in, from->kind, from->text, &label->value));
        count += label->value.kind != KYMO_VALUE_NONE;
    }
    *set = KYMO_NONE;
    return kymo_ingest_leave_out(in, KYMO_INGEST_LABELS,
                                 kymo_profile_add_label_set(in->profile, labels, count, set));
}

static kymo_err add_live(kymo_ingest *in, const kymo_event_live *e)
{
    const kymo_event_allocation plain = {
        .thread = e->thread,
        .stack = e->stack,
        .time_ns = e->time_ns,
        .address = e->address,
        .bytes = e->bytes,
        .rate = 1,
        .slack = e->slack,
        .family = e->family,
    };
    uint32_t process = process_of(in, e->thread);
    kymo_allocation a = plain_row(in, &plain);
    uint32_t row;
    a.birth_ns = time_of(e->birth_ns);
    a.weight = e->weight;
    a.origin = e->is_inherited ? KYMO_ORIGIN_FORKED : KYMO_ORIGIN_EARLIER;
    KYMO_TRY(live_labels(in, e, &a.labels));
    return find_block(in, process, e->id) == KYMO_NONE
               ? add_row(in, process, e->id, KYMO_NONE, &a, &row)
               : KYMO_OK;
}

kymo_err kymo_ingest_on_live(void *ctx, const kymo_event_live *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len || !kymo_ingest_has_stack(in, e->stack) || !(e->weight >= 1))
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    return kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS, add_live(in, e));
}

kymo_err kymo_ingest_on_inherit(void *ctx, const kymo_event_inherit *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_memory *m;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    KYMO_TRY(kymo_ingest_memory_of(in, process_of(in, e->thread), &m));
    forget_missing(in, process_of(in, e->thread));
    kymo_err err = kymo_ingest_keep_waiting(in);
    if (err == KYMO_OK)
        err = kymo_vec_push(&m->inherits, *e);
    return kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS, err);
}

/* ---- what a forked process inherits ---- */

/* The process that this one was forked from: the latest one with the parent's number. */
static uint32_t parent_of(const kymo_ingest *in, uint32_t process)
{
    const kymo_process *rows = in->profile->processes.data;
    uint32_t parent = KYMO_NONE;
    for (uint32_t i = 0; i < process; i++)
        if (rows[i].pid == rows[process].parent_pid && rows[i].start_ns <= rows[process].start_ns &&
            (parent == KYMO_NONE || rows[i].start_ns >= rows[parent].start_ns))
            parent = i;
    return parent;
}

/* The row of an allocation at a time, searched backwards from its last row. If the address is
 * given (not 0), a row with that address is preferred. */
static uint32_t row_at(const kymo_ingest *in, uint32_t process, uint32_t last, uint64_t time_ns,
                       uint64_t address)
{
    uint32_t there = KYMO_NONE;
    uint32_t row = last;
    for (int i = 0; row != KYMO_NONE && i < RESIZES_BACK_MAX; i++) {
        const kymo_allocation *a = row_of(in, process, row);
        if (a->time_ns <= time_ns && there == KYMO_NONE)
            there = row;
        if (a->time_ns <= time_ns && a->address == address)
            return row;
        row = a->previous;
    }
    return there != KYMO_NONE ? there : last;
}

/* For one process: where to look for allocations that it inherited. */
struct lineage {
    uint32_t ancestors[ANCESTORS_MAX];
    uint32_t count;
    int is_guess; /* the parent is unknown: candidates are all processes that began before this
                   * one, told apart by the address of the allocation */
};

static struct lineage lineage_of(const kymo_ingest *in, uint32_t process)
{
    struct lineage l = {.count = 0};
    for (uint32_t p = parent_of(in, process); p != KYMO_NONE && l.count < ANCESTORS_MAX;
         p = parent_of(in, p))
        l.ancestors[l.count++] = p;
    l.is_guess = l.count == 0;
    for (uint32_t p = process; l.is_guess && p-- > 0 && l.count < ANCESTORS_MAX;)
        l.ancestors[l.count++] = p;
    return l;
}

/* Adds the row of an inherited allocation to a forked process. address 0: not known. *first is
 * KYMO_NONE if no ancestor has the allocation. */
static kymo_err inherit(kymo_ingest *in, uint32_t process, const struct lineage *l, uint32_t thread,
                        uint64_t time_ns, uint64_t id, uint64_t address, uint32_t *first)
{
    uint64_t fork_ns = in->profile->processes.data[process].start_ns;
    *first = KYMO_NONE;
    if (fork_ns == 0 || fork_ns > time_ns)
        fork_ns = time_of(time_ns);
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t from = l->ancestors[i];
        uint32_t found = find_block(in, from, id);
        if (found == KYMO_NONE)
            continue;
        found = in->heap.processes.data[from].blocks.data[found].last;
        kymo_allocation a = *row_of(in, from, row_at(in, from, found, fork_ns, address));
        /* A process image that was started by exec, not forked, uses the same ids for other
         * allocations. The nearest ancestor has all allocations, except in a thinned recording. */
        if ((l->is_guess || (in->heap.thin.rate && address)) && a.address != address)
            continue;
        a.time_ns = fork_ns;
        a.end_ns = KYMO_LIVES;
        a.thread = thread;
        a.end_thread = KYMO_NONE;
        a.distance = UINT32_MAX;
        a.previous = KYMO_NONE;
        a.origin = KYMO_ORIGIN_FORKED;
        a.was_resized = 0;
        return add_row(in, process, id, KYMO_NONE, &a, first);
    }
    return KYMO_OK;
}

static kymo_err inherit_all(kymo_ingest *in, uint32_t process)
{
    struct kymo_ingest_memory *m = &in->heap.processes.data[process];
    uint32_t first;
    if (m->inherits.len + m->resizes.len + m->frees.len == 0)
        return KYMO_OK;
    struct lineage l = lineage_of(in, process);
    for (size_t i = 0; i < m->inherits.len; i++) {
        const kymo_event_inherit *e = &m->inherits.data[i];
        if (find_block(in, process, e->id) == KYMO_NONE)
            KYMO_TRY(inherit(in, process, &l, e->thread, e->time_ns, e->id, e->address, &first));
    }
    if (l.is_guess || (in->heap.thin.rate && m->inherits.len == 0))
        return KYMO_OK;
    for (size_t i = 0; i < m->resizes.len; i++) {
        const kymo_event_allocation *e = &m->resizes.data[i].now;
        if (find_block(in, process, e->id) == KYMO_NONE)
            KYMO_TRY(inherit(in, process, &l, e->thread, e->time_ns, e->id, 0, &first));
    }
    for (size_t i = 0; i < m->frees.len; i++) {
        const kymo_event_free *e = &m->frees.data[i];
        if (find_block(in, process, e->id) == KYMO_NONE)
            KYMO_TRY(inherit(in, process, &l, e->thread, e->time_ns, e->id, 0, &first));
    }
    return KYMO_OK;
}

/* ---- resizes ---- */

/* A resize of an allocation whose begin was lost: the row begins with the size before the
 * resize. */
static kymo_err add_resized(kymo_ingest *in, uint32_t process, const kymo_event_resize *e)
{
    kymo_allocation a = plain_row(in, &e->now);
    uint32_t row;
    a.weight = kymo_estimate_after_resize(kymo_estimate_before_resize(e), e);
    return a.weight > 0 ? add_row(in, process, e->now.id, KYMO_NONE, &a, &row) : KYMO_OK;
}

/* For a thinned recording: the allocation never came, so it was left out. */
static kymo_err begin_here(kymo_ingest *in, uint32_t process, const kymo_event_resize *e)
{
    if (e->was_drawn & KYMO_RESIZE_DRAWN_NOW)
        return add_block(in, process, &e->now);
    in->heap.thin.left_out++;
    return KYMO_OK;
}

static kymo_err resize(kymo_ingest *in, uint32_t process, const kymo_event_resize *e)
{
    uint32_t first = find_block(in, process, e->now.id);
    uint32_t row;
    if (first == KYMO_NONE && in->heap.thin.rate)
        return begin_here(in, process, e);
    if (first == KYMO_NONE)
        return add_resized(in, process, e);
    uint32_t last = in->heap.processes.data[process].blocks.data[first].last;
    kymo_allocation old = *row_of(in, process, last);
    kymo_allocation a = plain_row(in, &e->now);
    if (a.time_ns < old.time_ns)
        a.time_ns = old.time_ns;
    if (a.time_ns > old.end_ns)
        a.time_ns = old.end_ns;
    a.end_ns = old.end_ns;
    a.end_thread = old.end_thread;
    a.distance = old.distance;
    a.birth_ns = old.birth_ns;
    a.weight = kymo_estimate_after_resize(old.weight, e);
    a.previous = last;
    /* The allocation belongs to the stack that made it grow last. */
    if (a.bytes <= old.bytes) {
        a.thread = old.thread;
        a.family = old.family;
        a.origin = old.origin;
    }
    if (a.bytes <= old.bytes || a.stack == KYMO_NONE)
        a.stack = old.stack;
    KYMO_TRY(add_row(in, process, e->now.id, first, &a, &row));
    kymo_allocation *before = row_of(in, process, last);
    end_row(before, a.time_ns, e->now.thread);
    before->distance = UINT32_MAX;
    before->was_resized = 1;
    return KYMO_OK;
}

static kymo_err resize_all(kymo_ingest *in, uint32_t process)
{
    struct kymo_ingest_memory *m = &in->heap.processes.data[process];
    size_t count = m->resizes.len;
    kymo_err err = KYMO_OK;
    if (count == 0)
        return KYMO_OK;
    struct kymo_time_order *order;
    KYMO_TRY(kymo_time_order_make(&m->resizes.data[0].now.time_ns, sizeof *m->resizes.data, count,
                                  &order));
    for (size_t i = 0; i < count && err == KYMO_OK; i++)
        err = kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS,
                                    resize(in, process, &m->resizes.data[order[i].from]));
    free(order);
    return err;
}

/* ---- the end ---- */

static kymo_err join_process(kymo_ingest *in, uint32_t process)
{
    const struct kymo_ingest_memory *m = &in->heap.processes.data[process];
    KYMO_TRY(kymo_ingest_leave_out(in, KYMO_INGEST_ALLOCATIONS, inherit_all(in, process)));
    KYMO_TRY(resize_all(in, process));
    for (size_t i = 0; i < m->frees.len; i++) {
        uint32_t first = find_block(in, process, m->frees.data[i].id);
        if (first != KYMO_NONE)
            free_block(in, process, first, &m->frees.data[i]);
    }
    return KYMO_OK;
}

kymo_err kymo_ingest_join_blocks(kymo_ingest *in)
{
    for (uint32_t i = 0; i < in->heap.processes.len; i++)
        KYMO_TRY(join_process(in, i));
    return KYMO_OK;
}
