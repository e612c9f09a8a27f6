/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_heap_counters.c - two counters of each process whose memory was recorded: live bytes of
 * its heap, and bytes that it mapped itself.
 *
 * They are computed from allocations and mappings: one row for each slice of time with a change,
 * with the sum of all changes, and as operations the number of allocations and frees (of sampled
 * ones, the number that they count for).
 */
#include <math.h>
#include <stdlib.h>

#include "encode/firefox/firefox_heap.h"
#include "encode/json_table.h"
#include "kymo/marker_abi.h"
#include "profile/heap_walk.h"

enum {
    SLICES_MAX = 10000,
    BY_ALLOCATOR = 1, /* in kymo_mapping.how */
};

/* One row of a counter, a sum of steps. The sums are rounded, not the steps, so what the viewer
 * adds up is exact to a byte. */
struct slice {
    uint64_t time_ns; /* of its last step, since the profile's zero */
    uint64_t number;  /* of the slice */
    double bytes;     /* live bytes after it */
    double operations;
};

/* Adds up steps to the end of their slice; 0: no more. */
static int next_slice(const kymo_firefox *w, kymo_heap_walk *walk, kymo_heap_step *ahead,
                      int *has_ahead, uint64_t width, struct slice *s)
{
    if (!*has_ahead)
        return 0;
    s->number = ahead->time_ns / width;
    do {
        const kymo_allocation *row = &walk->rows[ahead->row];
        double change = row->weight * (double)row->bytes;
        s->bytes += ahead->is_end ? -change : change;
        s->operations += row->weight;
        s->time_ns = kymo_since_origin(w->p, ahead->time_ns);
        *has_ahead = kymo_heap_walk_next(walk, ahead);
    } while (*has_ahead && ahead->time_ns / width == s->number);
    return 1;
}

/* To the precision with which JSON readers distinguish numbers. */
static int64_t whole(double x)
{
    double most = (double)KYMO_FIREFOX_EXACT_MAX;
    return llround(fmax(-most, fmin(x, most)));
}

static void put_rounded(kymo_json *j, double before, double now)
{
    kymo_json_i64(j, whole(now) - whole(before));
}

enum column { TIME, COUNT, NUMBER, COLUMNS };

static void put_cell(kymo_firefox *w, const struct slice *before, const struct slice *s,
                     enum column column)
{
    if (column == TIME)
        kymo_json_ms(w->json, s->time_ns);
    else if (column == COUNT)
        put_rounded(w->json, before->bytes, s->bytes);
    else
        put_rounded(w->json, before->operations, s->operations);
}

/* The viewer takes the first row as 0 and draws from the first to the last row. So the first row
 * is 0, at the begin of the process or recording, and the last is repeated at its end. */
static uint64_t put_column(kymo_firefox *w, kymo_heap_walk *walk, uint32_t process, uint64_t width,
                           enum column column)
{
    struct slice s = {0};
    kymo_heap_step ahead;
    uint64_t rows = 0;
    kymo_heap_walk_rewind(walk);
    int has_ahead = kymo_heap_walk_next(walk, &ahead);
    s.time_ns = kymo_since_origin(w->p, w->p->processes.data[process].start_ns);
    if (s.time_ns < w->start_ns)
        s.time_ns = w->start_ns;
    if (s.time_ns > kymo_since_origin(w->p, ahead.time_ns))
        s.time_ns = kymo_since_origin(w->p, ahead.time_ns);
    put_cell(w, &s, &s, column);
    rows++;
    for (struct slice before = s; next_slice(w, walk, &ahead, &has_ahead, width, &s); before = s) {
        put_cell(w, &before, &s, column);
        rows++;
    }
    uint64_t end_ns = w->p->processes.data[process].end_ns;
    end_ns = end_ns ? kymo_since_origin(w->p, end_ns) : w->end_ns;
    end_ns = end_ns < w->end_ns ? end_ns : w->end_ns;
    if (s.time_ns < end_ns) {
        s.time_ns = end_ns;
        put_cell(w, &s, &s, column);
        rows++;
    }
    return rows;
}

static kymo_err put_counter(kymo_firefox *w, const kymo_firefox_counter *counter,
                            const kymo_allocation *rows, size_t count, uint32_t main_thread)
{
    static const char *const names[COLUMNS] = {"time", "count", "number"};
    kymo_heap_walk walk;
    uint64_t length = 0;
    uint64_t width = (w->end_ns - w->start_ns) / SLICES_MAX + 1;
    if (count == 0)
        return KYMO_OK;
    KYMO_TRY(kymo_heap_walk_init(&walk, rows, count));
    kymo_firefox_begin_counter(w, counter, main_thread);
    kymo_json_key_object(w->json, "samples");
    for (int i = 0; i < COLUMNS; i++) {
        kymo_json_key_array(w->json, names[i]);
        length = put_column(w, &walk, counter->process, width, (enum column)i);
        kymo_json_end_array(w->json);
    }
    kymo_json_end_table(w->json, length);
    kymo_json_end_object(w->json);
    kymo_heap_walk_deinit(&walk);
    return w->json->err;
}

/* Treats mappings like allocations; those of the allocator are part of the heap. */
static kymo_err put_mapped(kymo_firefox *w, const kymo_firefox_counter *counter,
                           uint32_t main_thread)
{
    size_t count;
    size_t n = 0;
    const kymo_mapping *m = kymo_profile_mappings(w->p, counter->process, &count);
    kymo_allocation *rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        if (!(m[i].how & BY_ALLOCATOR))
            rows[n++] = (kymo_allocation){
                .time_ns = m[i].time_ns, .end_ns = m[i].end_ns, .bytes = m[i].bytes, .weight = 1};
    kymo_err err = put_counter(w, counter, rows, n, main_thread);
    free(rows);
    return err;
}

int kymo_firefox_has_heap(const kymo_profile *p)
{
    return kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS) ||
           kymo_profile_count(p, KYMO_TABLE_MAPPINGS);
}

static kymo_err put_counters_of(kymo_firefox *w, uint32_t process, uint32_t main_thread)
{
    kymo_firefox_counter c = {.name = "Heap",
                              .category = "Memory",
                              .description = "Bytes of blocks that live",
                              .unit = "bytes",
                              .process = process,
                              .color = KYMO_COLOR_ORANGE,
                              .has_operations = 1};
    size_t count;
    const kymo_allocation *rows = kymo_profile_allocations(w->p, process, &count);
    if (!kymo_firefox_all_counters(w) && !kymo_firefox_has_memory_track(w, process))
        return KYMO_OK;
    KYMO_TRY(put_counter(w, &c, rows, count, main_thread));
    if (!kymo_firefox_all_counters(w) && count > 0)
        return KYMO_OK;
    c.name = "Mapped";
    c.description = "Bytes that the program mapped by itself";
    c.color = KYMO_COLOR_PURPLE;
    c.order = 1;
    return put_mapped(w, &c, main_thread);
}

kymo_err kymo_firefox_put_heap_counters(kymo_firefox *w, const uint32_t *main_thread)
{
    for (uint32_t i = 0; i < w->p->processes.len; i++)
        KYMO_TRY(put_counters_of(w, i, main_thread[i]));
    return KYMO_OK;
}
