/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_allocations.c - heap allocations, in a table of their process's main thread.
 *
 * The viewer matches a free to its allocation by the address, within one table. So the main thread
 * has the allocations of all threads, in order of time. A row has the bytes that its allocation
 * counts for; its free has the same number, negative. A resize is a free and an allocation.
 *
 * The viewer gets slow above a million rows. If there are more, allocations that count for few
 * bytes are sampled once more, each with a probability proportional to its bytes; those kept count
 * for more. So sums stay right on average, and large allocations are exact.
 */
#include <math.h>

#include "encode/firefox/firefox_heap.h"
#include "encode/json_table.h"
#include "profile/heap_walk.h"

enum { BLOCKS_MAX = 500000 };

struct table {
    kymo_firefox *w;
    kymo_heap_walk walk;
    double least; /* smallest number of bytes that a row counts for */
    uint64_t rows;
};

static double bytes_of(const kymo_allocation *row)
{
    return row->weight * (double)row->bytes;
}

/* Multiples of the golden ratio are evenly distributed modulo 1, for any start. */
static double spread(uint32_t row)
{
    return (double)(uint32_t)(row * 0x9e3779b9u) / 4294967296.0;
}

/* Bytes that an allocation is written with; 0: it is left out. */
static uint64_t shown_bytes(const struct table *t, uint32_t row)
{
    double bytes = bytes_of(&t->walk.rows[row]);
    if (bytes < t->least)
        bytes = spread(row) * t->least < bytes ? t->least : 0;
    return bytes < (double)KYMO_FIREFOX_EXACT_MAX ? (uint64_t)llround(bytes)
                                                  : KYMO_FIREFOX_EXACT_MAX;
}

static double expected_blocks(const struct table *t, double least)
{
    double sum = 0;
    for (size_t i = 0; i < t->walk.count; i++) {
        double bytes = bytes_of(&t->walk.rows[i]);
        sum += bytes < least ? bytes / least : 1;
    }
    return sum;
}

static double find_least(const struct table *t)
{
    double least = 1;
    if (t->walk.count > BLOCKS_MAX)
        while (expected_blocks(t, least) > BLOCKS_MAX)
            least *= 2;
    return least;
}

/* The next row of the table; 0: the end. */
static int next_row(struct table *t, kymo_heap_step *step, uint64_t *bytes)
{
    while (kymo_heap_walk_next(&t->walk, step)) {
        *bytes = shown_bytes(t, step->row);
        if (*bytes > 0)
            return 1;
    }
    kymo_heap_walk_rewind(&t->walk);
    return 0;
}

static void put_time(struct table *t, const kymo_heap_step *step, uint64_t bytes)
{
    (void)bytes;
    kymo_json_ms(t->w->json, kymo_since_origin(t->w->p, step->time_ns));
}

static void put_weight(struct table *t, const kymo_heap_step *step, uint64_t bytes)
{
    kymo_json_signed_fixed(t->w->json, step->is_end, bytes, 0);
}

/* A free has the stack of its allocation: the code that frees is not recorded. */
static void put_stack(struct table *t, const kymo_heap_step *step, uint64_t bytes)
{
    uint32_t stack = t->walk.rows[step->row].stack;
    (void)bytes;
    kymo_json_u64(t->w->json, stack != KYMO_NONE ? t->w->stack_last[stack] : t->w->stack_count);
}

static void put_address(struct table *t, const kymo_heap_step *step, uint64_t bytes)
{
    (void)bytes;
    kymo_json_u64(t->w->json, t->walk.rows[step->row].address);
}

static void put_thread_id(struct table *t, const kymo_heap_step *step, uint64_t bytes)
{
    const kymo_allocation *row = &t->walk.rows[step->row];
    uint32_t thread =
        step->is_end && row->end_thread < t->w->p->threads.len ? row->end_thread : row->thread;
    (void)bytes;
    kymo_json_i64(t->w->json, t->w->p->threads.data[thread].tid);
}

static kymo_err put_column(struct table *t, const char *name,
                           void (*put)(struct table *, const kymo_heap_step *, uint64_t))
{
    kymo_heap_step step;
    uint64_t bytes;
    t->rows = 0;
    kymo_json_key_array(t->w->json, name);
    for (; next_row(t, &step, &bytes); t->rows++) {
        put(t, &step, bytes);
        KYMO_TRY(kymo_encoder_step(t->w->encoder, 1));
    }
    kymo_json_end_array(t->w->json);
    return t->w->json->err;
}

static kymo_err put_table(struct table *t)
{
    kymo_heap_step step;
    uint64_t bytes;
    int is_empty = !next_row(t, &step, &bytes);
    kymo_heap_walk_rewind(&t->walk);
    if (is_empty)
        return KYMO_OK;
    kymo_json_key_object(t->w->json, "nativeAllocations");
    KYMO_TRY(put_column(t, "time", put_time));
    KYMO_TRY(put_column(t, "weight", put_weight));
    kymo_json_key_cstr(t->w->json, "weightType", "bytes");
    KYMO_TRY(put_column(t, "stack", put_stack));
    KYMO_TRY(put_column(t, "memoryAddress", put_address));
    KYMO_TRY(put_column(t, "threadId", put_thread_id));
    kymo_json_end_table(t->w->json, t->rows);
    return t->w->json->err;
}

kymo_err kymo_firefox_put_allocations(kymo_firefox *w, uint32_t process)
{
    size_t count;
    const kymo_allocation *rows = kymo_profile_allocations(w->p, process, &count);
    struct table t = {.w = w};
    if (count == 0)
        return KYMO_OK;
    KYMO_TRY(kymo_heap_walk_init(&t.walk, rows, count));
    t.least = find_least(&t);
    kymo_err err = put_table(&t);
    kymo_heap_walk_deinit(&t.walk);
    return err;
}

uint64_t kymo_firefox_thinned(const kymo_profile *p, uint32_t process)
{
    struct table t = {0};
    t.walk.rows = kymo_profile_allocations(p, process, &t.walk.count);
    double least = find_least(&t);
    return least > 1 ? (uint64_t)least : 0;
}
