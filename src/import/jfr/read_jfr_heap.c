/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_heap.c - malloc and free: what was allocated, and what of it was not freed.
 *
 * async-profiler does not write the events in the order of time, and frees of blocks whose malloc
 * it did not sample. So both are kept, and put in order at the end of the file.
 */
#include <math.h>
#include <stdlib.h>

#include "import/jfr/read_jfr.h"

static kymo_err push(struct kymo_jfr_reader *r, const kymo_jfr_allocation *row)
{
    if (r->allocations.len == r->allocations.cap) {
        size_t grown = r->allocations.cap ? 2 * r->allocations.cap : 64;
        KYMO_TRY(kymo_import_charge(r->d, (grown - r->allocations.cap) * sizeof *row));
    }
    return kymo_vec_push(&r->allocations, *row);
}

/* Of the block before, which stands for others, or adds another number of bytes. */
static void take_weight(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    double weight = kymo_jfr_real(row, KYMO_JFR_ROLE_WEIGHT);
    if (r->allocations.len == 0)
        return;
    kymo_jfr_allocation *last = &r->allocations.data[r->allocations.len - 1];
    if (last->is_free || last->address != kymo_jfr_number(row, KYMO_JFR_ROLE_ADDRESS))
        return;
    last->weight = weight > 0 && weight < (double)INT64_MAX ? weight : 0;
    last->allocated = kymo_jfr_number(row, KYMO_JFR_ROLE_ALLOCATED);
}

kymo_err kymo_jfr_take_memory(struct kymo_jfr_reader *r, unsigned event, const kymo_jfr_row *row)
{
    kymo_jfr_sample s;
    kymo_jfr_allocation a = {.address = kymo_jfr_number(row, KYMO_JFR_ROLE_ADDRESS),
                             .size = kymo_jfr_number(row, KYMO_JFR_ROLE_SIZE),
                             .weight = 1,
                             .is_free = event == KYMO_JFR_EVENT_FREE};
    if (event == KYMO_JFR_EVENT_KYMO_MALLOC_WEIGHT) {
        take_weight(r, row);
        return KYMO_OK;
    }
    if (a.size > INT64_MAX)
        return kymo_import_fault(r->d, row->position, "a block has the size %lld",
                                 (long long)a.size);
    if (a.is_free) {
        a.time_ns = kymo_jfr_time_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_START_TIME));
    } else {
        KYMO_TRY(kymo_jfr_begin_sample(r, row, &s));
        a.time_ns = s.time_ns;
        a.place = s.place;
        a.stack = s.stack;
        a.allocated = a.size;
    }
    a.order = (uint32_t)r->allocations.len;
    return push(r, &a);
}

static int compare(const void *a, const void *b)
{
    const kymo_jfr_allocation *x = a;
    const kymo_jfr_allocation *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static uint64_t weigh(double weight, uint64_t bytes)
{
    double value = weight * (double)bytes;
    if (weight <= 1 && weight >= 1)
        return bytes;
    return value < (double)INT64_MAX ? (uint64_t)llround(value) : INT64_MAX;
}

static kymo_err add(struct kymo_jfr_reader *r, const kymo_jfr_allocation *a, uint32_t type,
                    uint64_t value)
{
    return kymo_jfr_add_sample(r, &(kymo_jfr_sample){.time_ns = a->time_ns,
                                                     .value = value,
                                                     .place = a->place,
                                                     .stack = a->stack,
                                                     .labels = KYMO_NONE,
                                                     .type = type});
}

/* The last block at an address is there until it is freed. */
static kymo_err end_block(kymo_key_map *live, kymo_jfr_allocation *rows, uint32_t at)
{
    uint32_t *found = kymo_key_map_find(live, rows[at].address);
    if (found)
        rows[*found].is_freed = 1;
    if (rows[at].is_free) {
        kymo_key_map_remove(live, rows[at].address);
        return KYMO_OK;
    }
    if (!found)
        return kymo_key_map_put(live, rows[at].address, at);
    *found = at;
    return KYMO_OK;
}

static kymo_err add_all(struct kymo_jfr_reader *r, kymo_key_map *live)
{
    kymo_jfr_allocation *rows = r->allocations.data;
    size_t count = r->allocations.len;
    qsort(rows, count, sizeof *rows, compare);
    for (uint32_t i = 0; i < count; i++)
        KYMO_TRY(end_block(live, rows, i));
    for (uint32_t i = 0; i < count; i++) {
        const kymo_jfr_allocation *a = &rows[i];
        if (a->is_free)
            continue;
        KYMO_TRY(add(r, a, r->types[KYMO_JFR_EVENT_MALLOC], weigh(a->weight, a->allocated)));
        if (!a->is_freed)
            KYMO_TRY(add(r, a, r->inuse_type, weigh(a->weight, a->size)));
    }
    return KYMO_OK;
}

/* Sorting takes as much again, and the map of what lives as well. */
kymo_err kymo_jfr_end_memory(struct kymo_jfr_reader *r)
{
    size_t bytes = r->allocations.len * (sizeof(kymo_jfr_allocation) + 4 * sizeof(kymo_key_slot));
    kymo_key_map live = {0};
    if (r->allocations.len == 0)
        return KYMO_OK;
    KYMO_TRY(kymo_import_charge(r->d, bytes));
    kymo_err err = add_all(r, &live);
    kymo_key_map_deinit(&live);
    kymo_import_uncharge(r->d, bytes);
    return err;
}
