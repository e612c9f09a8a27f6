/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_allocations.c - see live_allocations.h.
 *
 * Resizes and forks have the same effect on an allocation as in profile/ingest_heap.c.
 */
#include "recording/live_allocations.h"

#include <stdlib.h>
#include <string.h>

#include "recording/events.h"
#include "recording/weight.h"

/* ---- labels ---- */

static struct kymo_live_labels *share(struct kymo_live_labels *labels)
{
    if (labels)
        labels->users++;
    return labels;
}

static void release(struct kymo_live_labels *labels)
{
    if (labels && --labels->users == 0)
        free(labels);
}

static void take_labels(struct kymo_live_allocation *b, struct kymo_live_labels **labels)
{
    release(b->labels);
    b->labels = *labels;
    *labels = NULL;
}

/* ---- the table ---- */

static struct kymo_live_allocation *find(const struct kymo_live_allocations *t, uint64_t id)
{
    const uint32_t *place = kymo_key_map_find(&t->by_id, id);
    return place ? &t->places.data[*place] : NULL;
}

/* Reserves an entry for an allocation that is not in the table; NULL with KYMO_OK: too many. */
static kymo_err take_place(struct kymo_live_allocations *t, uint64_t id,
                           struct kymo_live_allocation **entry)
{
    *entry = NULL;
    if (t->by_id.used >= KYMO_LIVE_ALLOCATIONS_MAX) {
        t->missing++;
        return KYMO_OK;
    }
    if (!t->unused) {
        KYMO_TRY(kymo_vec_push(&t->places, (struct kymo_live_allocation){.next_unused = 0}));
        t->unused = (uint32_t)t->places.len;
    }
    uint32_t place = t->unused - 1;
    KYMO_TRY(kymo_key_map_put(&t->by_id, id, place));
    *entry = &t->places.data[place];
    t->unused = (*entry)->next_unused;
    **entry = (struct kymo_live_allocation){.id = id, .is_live = 1};
    return KYMO_OK;
}

static void take_out(struct kymo_live_allocations *t, struct kymo_live_allocation *b)
{
    kymo_key_map_remove(&t->by_id, b->id);
    release(b->labels);
    *b = (struct kymo_live_allocation){.next_unused = t->unused};
    t->unused = (uint32_t)(b - t->places.data) + 1;
}

void kymo_live_allocations_deinit(struct kymo_live_allocations *t)
{
    for (size_t i = 0; i < t->places.len; i++)
        release(t->places.data[i].labels);
    for (size_t i = 0; i < t->waiting.len; i++)
        release(t->waiting.data[i].labels);
    kymo_vec_deinit(&t->places);
    kymo_vec_deinit(&t->waiting);
    kymo_key_map_deinit(&t->by_id);
    *t = (struct kymo_live_allocations){.process = t->process, .is_off = t->is_off};
}

void kymo_live_allocations_give_up(struct kymo_live_allocations *t)
{
    kymo_live_allocations_deinit(t);
    t->is_off = 1;
}

const struct kymo_live_allocation *kymo_live_allocations_find(const struct kymo_live_allocations *t,
                                                              uint64_t id)
{
    return find(t, id);
}

/* ---- events take effect ---- */

/* All but id, birth, weight and labels. */
static void set_size(struct kymo_live_allocation *b, uint32_t process,
                     const kymo_event_allocation *e)
{
    b->stack_process = process;
    b->address = e->address;
    b->bytes = e->bytes;
    b->time_ns = e->time_ns;
    b->thread = e->thread;
    b->stack = e->stack;
    b->slack = e->slack;
    b->family = (uint16_t)e->family;
}

static kymo_err begin(struct kymo_live_allocations *t, const kymo_event_allocation *e,
                      double weight, struct kymo_live_labels **labels)
{
    struct kymo_live_allocation *b = find(t, e->id);
    if (!(weight > 0))
        return KYMO_OK; /* an allocation of 0 bytes is never sampled */
    if (!b)
        KYMO_TRY(take_place(t, e->id, &b));
    if (!b)
        return KYMO_OK;
    set_size(b, t->process, e);
    b->birth_ns = e->time_ns;
    b->weight = weight;
    b->is_inherited = 0;
    take_labels(b, labels);
    return KYMO_OK;
}

/* The allocation belongs to the stack that made it grow last. */
static void resize(struct kymo_live_allocation *b, uint32_t process, const kymo_event_resize *e,
                   struct kymo_live_labels **labels)
{
    const struct kymo_live_allocation old = *b;
    set_size(b, process, &e->now);
    if (b->time_ns < old.time_ns)
        b->time_ns = old.time_ns;
    b->weight = kymo_estimate_after_resize(old.weight, e);
    if (e->now.bytes <= old.bytes) {
        b->thread = old.thread;
        b->family = old.family;
    } else {
        b->is_inherited = 0;
        take_labels(b, labels);
    }
    if (e->now.bytes <= old.bytes || e->now.stack == KYMO_EVENT_NONE) {
        b->stack = old.stack;
        b->stack_process = old.stack_process;
    }
}

/* *waits: its allocation is still to come. */
static kymo_err take_effect(struct kymo_live_allocations *t, struct kymo_live_event *event,
                            int *waits)
{
    const kymo_event_resize *e = &event->e;
    struct kymo_live_allocation *b = find(t, e->now.id);
    *waits = 0;
    if (event->kind == KYMO_LIVE_ALLOCATION) {
        const double weight = kymo_estimate_weight(e->now.bytes, e->now.rate);
        return begin(t, &e->now, weight, &event->labels);
    }
    if (!b && e->now.time_ns > t->read_ns) {
        *waits = 1;
        return KYMO_OK;
    }
    if (event->kind == KYMO_LIVE_FREE) {
        if (b)
            take_out(t, b);
        else
            t->missing -= t->missing > 0;
        return KYMO_OK;
    }
    if (b) {
        resize(b, t->process, e, &event->labels);
        return KYMO_OK;
    }
    /* Its begin was lost. */
    const double weight = kymo_estimate_after_resize(kymo_estimate_before_resize(e), e);
    return begin(t, &e->now, weight, &event->labels);
}

/* Only those of one allocation depend on each other. The clocks of two threads may differ a little,
 * but nobody frees what is not allocated. */
static int compare(const void *a, const void *b)
{
    const struct kymo_live_event *left = a, *right = b;
    if (left->e.now.id != right->e.now.id)
        return left->e.now.id < right->e.now.id ? -1 : 1;
    if (left->kind != right->kind)
        return (int)left->kind - (int)right->kind;
    return left->e.now.time_ns < right->e.now.time_ns ? -1
                                                      : left->e.now.time_ns > right->e.now.time_ns;
}

static void sort(struct kymo_live_allocations *t)
{
    if (t->waiting.len)
        qsort(t->waiting.data, t->waiting.len, sizeof *t->waiting.data, compare);
}

static kymo_err apply(struct kymo_live_allocations *t, uint64_t until_ns)
{
    enum { KEPT = 1024 }; /* waiting events that room is kept for */
    struct kymo_live_event *events = t->waiting.data;
    const size_t count = t->waiting.len;
    size_t left = 0;
    kymo_err err = KYMO_OK;
    sort(t);
    for (size_t i = 0; i < count; i++) {
        const struct kymo_live_event *before = left ? &events[left - 1] : NULL;
        int waits = events[i].e.now.time_ns > until_ns ||
                    (before && before->e.now.id == events[i].e.now.id);
        if (!waits && err == KYMO_OK)
            err = take_effect(t, &events[i], &waits);
        if (waits)
            events[left++] = events[i];
        else
            release(events[i].labels);
    }
    t->waiting.len = left;
    if (left == 0 && t->waiting.cap > KEPT)
        kymo_vec_deinit(&t->waiting);
    return err;
}

kymo_err kymo_live_allocations_settle(struct kymo_live_allocations *t, uint64_t read_ns)
{
    if (read_ns > t->read_ns)
        t->read_ns = read_ns;
    return t->waiting.len ? apply(t, read_ns) : KYMO_OK;
}

/* ---- what lives now ---- */

/* Begins with what the table has of the event's allocation. */
static kymo_err copy_entry(struct kymo_live_allocations *to, kymo_key_map *seen,
                           const struct kymo_live_allocations *from, uint64_t id)
{
    const struct kymo_live_allocation *b = find(from, id);
    struct kymo_live_allocation *copy;
    if (kymo_key_map_find(seen, id))
        return KYMO_OK;
    KYMO_TRY(kymo_key_map_put(seen, id, 0));
    if (!b)
        return KYMO_OK;
    KYMO_TRY(take_place(to, id, &copy));
    if (!copy)
        return KYMO_OK;
    *copy = *b;
    share(copy->labels);
    return KYMO_OK;
}

/* Applies the waiting events to copies of the allocations that they are of. */
static kymo_err look_ahead(struct kymo_live_allocations *ahead, kymo_key_map *seen,
                           const struct kymo_live_allocations *t)
{
    for (size_t i = 0; i < t->waiting.len; i++) {
        struct kymo_live_event event = t->waiting.data[i];
        int unused;
        KYMO_TRY(copy_entry(ahead, seen, t, event.e.now.id));
        share(event.labels);
        kymo_err err = take_effect(ahead, &event, &unused);
        release(event.labels);
        KYMO_TRY(err);
    }
    return KYMO_OK;
}

typedef kymo_err put_fn(void *context, const struct kymo_live_allocation *b);

static kymo_err list(const struct kymo_live_allocations *t, const kymo_key_map *without,
                     put_fn *put, void *context)
{
    for (size_t i = 0; i < t->places.len; i++) {
        const struct kymo_live_allocation *b = &t->places.data[i];
        if (b->is_live && !(without && kymo_key_map_find(without, b->id)))
            KYMO_TRY(put(context, b));
    }
    return KYMO_OK;
}

kymo_err kymo_live_allocations_list(struct kymo_live_allocations *t, put_fn *put, void *context)
{
    struct kymo_live_allocations ahead = {.process = t->process, .read_ns = t->read_ns};
    kymo_key_map seen = {0};
    sort(t);
    kymo_err err = look_ahead(&ahead, &seen, t);
    if (err == KYMO_OK)
        err = list(t, &seen, put, context);
    if (err == KYMO_OK)
        err = list(&ahead, NULL, put, context);
    kymo_live_allocations_deinit(&ahead);
    kymo_key_map_deinit(&seen);
    return err;
}

kymo_err kymo_live_allocations_use_stacks(const struct kymo_live_allocations *t, uint32_t process,
                                          kymo_key_map *used)
{
    for (size_t i = 0; i < t->places.len; i++)
        if (t->places.data[i].is_live && t->places.data[i].stack_process == process)
            KYMO_TRY(kymo_key_map_add(used, t->places.data[i].stack));
    for (size_t i = 0; i < t->waiting.len && t->process == process; i++)
        KYMO_TRY(kymo_key_map_add(used, t->waiting.data[i].e.now.stack));
    return KYMO_OK;
}

/* ---- events ---- */

static uint64_t newest(const struct kymo_live_allocations *t)
{
    uint64_t time_ns = 0;
    for (size_t i = 0; i < t->waiting.len; i++)
        if (t->waiting.data[i].e.now.time_ns > time_ns)
            time_ns = t->waiting.data[i].e.now.time_ns;
    return time_ns;
}

static kymo_err put(struct kymo_live_allocations *t, const struct kymo_live_event *event)
{
    kymo_err err = KYMO_OK;
    if (t->is_off) {
        release(event->labels);
        return KYMO_OK;
    }
    /* The recorder is far behind. What is late now is as if it were lost. */
    if (t->waiting.len >= KYMO_LIVE_WAITING_MAX)
        err = kymo_live_allocations_settle(t, newest(t));
    if (err == KYMO_OK)
        err = kymo_vec_push(&t->waiting, *event);
    if (err != KYMO_OK)
        release(event->labels);
    return err;
}

kymo_err kymo_live_allocations_add(struct kymo_live_allocations *t, const kymo_event_allocation *e,
                                   struct kymo_live_labels *labels)
{
    return put(t, &(struct kymo_live_event){{.now = *e}, labels, KYMO_LIVE_ALLOCATION});
}

kymo_err kymo_live_allocations_resize(struct kymo_live_allocations *t, const kymo_event_resize *e,
                                      struct kymo_live_labels *labels)
{
    /* If it was not sampled before, nothing is known of it: it begins here. */
    if (!(e->was_drawn & KYMO_RESIZE_DRAWN_BEFORE))
        return kymo_live_allocations_add(t, &e->now, labels);
    return put(t, &(struct kymo_live_event){*e, labels, KYMO_LIVE_RESIZE});
}

kymo_err kymo_live_allocations_free(struct kymo_live_allocations *t, const kymo_event_free *e)
{
    const kymo_event_allocation freed = {.id = e->id, .time_ns = e->time_ns};
    return put(t, &(struct kymo_live_event){{.now = freed}, NULL, KYMO_LIVE_FREE});
}

kymo_err kymo_live_allocations_inherit(struct kymo_live_allocations *t,
                                       struct kymo_live_allocations *parent,
                                       const kymo_event_inherit *e, uint64_t fork_ns)
{
    const uint64_t begin_ns = fork_ns && fork_ns <= e->time_ns ? fork_ns : e->time_ns;
    struct kymo_live_allocation *b = find(t, e->id);
    const struct kymo_live_allocation *from = NULL;
    if (t->is_off || b)
        return KYMO_OK;
    /* The time of the fork may be rounded down, and the parent may go on freeing after it. */
    for (int i = 0; i < 2 && parent && !from; i++) {
        KYMO_TRY(apply(parent, i == 0 ? begin_ns : e->time_ns));
        from = find(parent, e->id);
    }
    if (!from || from->address != e->address) {
        t->missing++;
        return KYMO_OK;
    }
    const struct kymo_live_allocation copy = *from;
    KYMO_TRY(take_place(t, e->id, &b));
    if (!b)
        return KYMO_OK;
    *b = copy;
    b->labels = NULL;
    b->time_ns = begin_ns;
    if (b->birth_ns > b->time_ns)
        b->birth_ns = b->time_ns;
    b->thread = e->thread;
    b->is_inherited = 1;
    return KYMO_OK;
}
