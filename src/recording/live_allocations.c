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
        kymo_live_allocations_give_up(t);
        return KYMO_OK;
    }
    if (!t->unused) {
        KYMO_TRY(kymo_vec_push(&t->places, (struct kymo_live_allocation){.grown = 0}));
        t->unused = (uint32_t)t->places.len;
    }
    uint32_t place = t->unused - 1;
    KYMO_TRY(kymo_key_map_put(&t->by_id, id, place));
    *entry = &t->places.data[place];
    t->unused = (uint32_t)(*entry)->grown;
    **entry = (struct kymo_live_allocation){.id = id, .state = KYMO_LIVE_HERE};
    return KYMO_OK;
}

static void take_out(struct kymo_live_allocations *t, struct kymo_live_allocation *b)
{
    kymo_key_map_remove(&t->by_id, b->id);
    free(b->labels);
    *b = (struct kymo_live_allocation){.grown = t->unused};
    t->unused = (uint32_t)(b - t->places.data) + 1;
}

void kymo_live_allocations_deinit(struct kymo_live_allocations *t)
{
    for (size_t i = 0; i < t->places.len; i++)
        free(t->places.data[i].labels);
    kymo_vec_deinit(&t->places);
    kymo_vec_deinit(&t->freed.ring);
    kymo_vec_deinit(&t->ended.ring);
    kymo_key_map_deinit(&t->by_id);
    *t = (struct kymo_live_allocations){.process = t->process, .is_inexact = t->is_inexact};
}

void kymo_live_allocations_give_up(struct kymo_live_allocations *t)
{
    kymo_live_allocations_deinit(t);
    t->is_inexact = 1;
}

const struct kymo_live_allocation *kymo_live_allocations_find(const struct kymo_live_allocations *t,
                                                              uint64_t id)
{
    const struct kymo_live_allocation *b = find(t, id);
    return b && kymo_live_allocation_lives(b) ? b : NULL;
}

/* ---- events ---- */

static void take_labels(struct kymo_live_allocation *b, struct kymo_live_labels *labels)
{
    free(b->labels);
    b->labels = labels;
}

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

/* The weight of an allocation whose resize was read before its begin: its weight at the begin,
 * then that of the growth. */
static void set_beginning(struct kymo_live_allocation *b, uint64_t birth_ns, double weight,
                          uint64_t rate)
{
    b->birth_ns = birth_ns < b->time_ns ? birth_ns : b->time_ns;
    b->weight = rate <= 1 ? 1 : kymo_estimate_resized(weight, b->bytes, b->grown, rate);
    b->state = KYMO_LIVE_HERE;
    b->grown = 0;
}

static kymo_err add(struct kymo_live_allocations *t, const kymo_event_allocation *e,
                    struct kymo_live_allocation **entry)
{
    double weight = kymo_estimate_weight(e->bytes, e->rate);
    struct kymo_live_allocation *b = find(t, e->id);
    *entry = NULL;
    if (b && b->state == KYMO_LIVE_FREED)
        return KYMO_OK;
    if (b && b->state == KYMO_LIVE_RESIZED) {
        set_beginning(b, e->time_ns, weight, e->rate);
        return KYMO_OK;
    }
    /* Its free may have been read earlier and dropped from the list of early frees. */
    if (!b && e->time_ns <= t->freed.dropped_ns) {
        kymo_live_allocations_give_up(t);
        return KYMO_OK;
    }
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
    b->state = KYMO_LIVE_HERE;
    *entry = b;
    return KYMO_OK;
}

kymo_err kymo_live_allocations_add(struct kymo_live_allocations *t, const kymo_event_allocation *e,
                                   struct kymo_live_labels *labels)
{
    struct kymo_live_allocation *b = NULL;
    kymo_err err = t->is_inexact ? KYMO_OK : add(t, e, &b);
    if (b)
        take_labels(b, labels);
    else
        free(labels);
    return err;
}

static kymo_err remember(struct kymo_live_allocations *t, struct kymo_live_freed *freed,
                         const kymo_event_free *e)
{
    const struct kymo_live_free now = {e->id, e->time_ns};
    if (freed->ring.len < KYMO_LIVE_FREED_MAX)
        return kymo_vec_push(&freed->ring, now);
    struct kymo_live_free *oldest = &freed->ring.data[freed->oldest];
    struct kymo_live_allocation *b = find(t, oldest->id);
    if (oldest->time_ns > freed->dropped_ns)
        freed->dropped_ns = oldest->time_ns;
    if (b && !kymo_live_allocation_lives(b))
        take_out(t, b);
    *oldest = now;
    freed->oldest = (freed->oldest + 1) % KYMO_LIVE_FREED_MAX;
    return KYMO_OK;
}

kymo_err kymo_live_allocations_free(struct kymo_live_allocations *t, const kymo_event_free *e)
{
    struct kymo_live_allocation *b = find(t, e->id);
    if (t->is_inexact || (b && !kymo_live_allocation_lives(b)))
        return KYMO_OK;
    const int was_here = b && b->state == KYMO_LIVE_HERE;
    if (!b)
        KYMO_TRY(take_place(t, e->id, &b));
    if (!b)
        return KYMO_OK;
    take_labels(b, NULL);
    b->state = was_here ? KYMO_LIVE_ENDED : KYMO_LIVE_FREED;
    return remember(t, was_here ? &t->ended : &t->freed, e);
}

/* The allocation belongs to the stack that made it grow last. */
static void resize_known(struct kymo_live_allocation *b, uint32_t process,
                         const kymo_event_resize *e, struct kymo_live_labels **labels)
{
    const struct kymo_live_allocation old = *b;
    set_size(b, process, &e->now);
    b->weight = kymo_estimate_after_resize(old.weight, e);
    if (e->now.bytes <= old.bytes) {
        b->thread = old.thread;
        b->family = old.family;
    } else {
        b->is_inherited = 0;
        take_labels(b, *labels);
        *labels = NULL;
    }
    if (e->now.bytes <= old.bytes || e->now.stack == KYMO_EVENT_NONE) {
        b->stack = old.stack;
        b->stack_process = old.stack_process;
    }
}

static kymo_err resize(struct kymo_live_allocations *t, const kymo_event_resize *e,
                       struct kymo_live_labels **labels)
{
    struct kymo_live_allocation *b = find(t, e->now.id);
    if (b && !kymo_live_allocation_lives(b))
        return KYMO_OK;
    /* The effect of a resize depends on earlier ones, which are not stored. And an unknown
     * allocation may have been freed since. */
    if (b ? b->state == KYMO_LIVE_RESIZED || e->now.time_ns < b->time_ns
          : e->now.time_ns <= t->freed.dropped_ns || e->now.time_ns <= t->ended.dropped_ns) {
        kymo_live_allocations_give_up(t);
        return KYMO_OK;
    }
    if (b) {
        resize_known(b, t->process, e, labels);
        return KYMO_OK;
    }
    double weight = kymo_estimate_after_resize(kymo_estimate_before_resize(e), e);
    if (!(weight > 0))
        return KYMO_OK;
    KYMO_TRY(take_place(t, e->now.id, &b));
    if (!b)
        return KYMO_OK;
    set_size(b, t->process, &e->now);
    b->birth_ns = e->now.time_ns;
    b->weight = weight;
    b->state = KYMO_LIVE_RESIZED;
    b->grown = e->now.bytes > e->usable_before ? e->now.bytes - e->usable_before : 0;
    take_labels(b, *labels);
    *labels = NULL;
    return KYMO_OK;
}

kymo_err kymo_live_allocations_resize(struct kymo_live_allocations *t, const kymo_event_resize *e,
                                      struct kymo_live_labels *labels)
{
    kymo_err err = KYMO_OK;
    if (t->is_inexact) {
        free(labels);
        return KYMO_OK;
    }
    /* If it was not sampled before, nothing is known of it: it begins here. */
    if (!(e->was_drawn & KYMO_RESIZE_DRAWN_BEFORE))
        return kymo_live_allocations_add(t, &e->now, labels);
    err = resize(t, e, &labels);
    free(labels);
    return err;
}

kymo_err kymo_live_allocations_inherit(struct kymo_live_allocations *t,
                                       const struct kymo_live_allocations *parent,
                                       const kymo_event_inherit *e, uint64_t fork_ns)
{
    struct kymo_live_allocation *b = find(t, e->id);
    if (t->is_inexact || (b && b->state != KYMO_LIVE_RESIZED))
        return KYMO_OK;
    const struct kymo_live_allocation *from =
        parent ? kymo_live_allocations_find(parent, e->id) : NULL;
    /* The parent may have freed it, or moved it since the fork. */
    if (b || !from || from->address != e->address) {
        kymo_live_allocations_give_up(t);
        return KYMO_OK;
    }
    const struct kymo_live_allocation copy = *from;
    KYMO_TRY(take_place(t, e->id, &b));
    if (!b)
        return KYMO_OK;
    *b = copy;
    b->labels = NULL;
    b->time_ns = fork_ns && fork_ns <= e->time_ns ? fork_ns : e->time_ns;
    if (b->birth_ns > b->time_ns)
        b->birth_ns = b->time_ns;
    b->thread = e->thread;
    b->is_inherited = 1;
    b->state = KYMO_LIVE_HERE;
    return KYMO_OK;
}
