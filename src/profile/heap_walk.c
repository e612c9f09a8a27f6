/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/heap_walk.h"

#include <stdlib.h>
#include <string.h>

double *kymo_heap_last_weights(const kymo_allocation *rows, size_t count)
{
    double *weights = malloc((count + 1) * sizeof *weights);
    if (!weights)
        return NULL;
    for (size_t i = 0; i < count; i++)
        weights[i] = rows[i].weight;
    /* A row comes after the row that it was before a resize. */
    for (size_t i = count; i-- > 0;)
        if (rows[i].previous < i)
            weights[rows[i].previous] = weights[i];
    return weights;
}

/* The end of a row; a broken row that ends before its begin is empty. */
static uint64_t end_of(const kymo_allocation *row)
{
    return row->end_ns > row->time_ns ? row->end_ns : row->time_ns;
}

static int compare_ends(const void *a, const void *b, void *rows)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    uint64_t ex = end_of(&((const kymo_allocation *)rows)[x]);
    uint64_t ey = end_of(&((const kymo_allocation *)rows)[y]);
    if (ex != ey)
        return ex < ey ? -1 : 1;
    return (x > y) - (x < y);
}

kymo_err kymo_heap_walk_init(kymo_heap_walk *walk, const kymo_allocation *rows, size_t count)
{
    uint32_t *ends = malloc((count + 1) * sizeof *ends);
    size_t n = 0;
    if (!ends)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        if (rows[i].end_ns != KYMO_LIVES)
            ends[n++] = (uint32_t)i;
    if (n > 1)
        qsort_r(ends, n, sizeof *ends, compare_ends, (void *)rows);
    *walk = (kymo_heap_walk){.rows = rows, .count = count, .ends = ends, .end_count = n};
    return KYMO_OK;
}

void kymo_heap_walk_deinit(kymo_heap_walk *walk)
{
    free(walk->ends);
    *walk = (kymo_heap_walk){0};
}

void kymo_heap_walk_rewind(kymo_heap_walk *walk)
{
    walk->next_birth = walk->next_end = 0;
}

int kymo_heap_walk_next(kymo_heap_walk *walk, kymo_heap_step *step)
{
    size_t birth = walk->next_birth;
    if (walk->next_end < walk->end_count) {
        uint32_t row = walk->ends[walk->next_end];
        uint64_t end_ns = end_of(&walk->rows[row]);
        /* A row that begins and ends at the same time must begin first. */
        if (row < birth && (birth == walk->count || end_ns <= walk->rows[birth].time_ns)) {
            *step = (kymo_heap_step){end_ns, row, 1};
            walk->next_end++;
            return 1;
        }
    }
    if (birth == walk->count)
        return 0;
    *step = (kymo_heap_step){walk->rows[birth].time_ns, (uint32_t)birth, 0};
    walk->next_birth++;
    return 1;
}
