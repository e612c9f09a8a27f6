/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_order.c - a merge sort that begins with the runs that are there. Rows come from few sources,
 * each of which is in order or nearly so: a few passes instead of one for each bit of their number.
 */
#include "profile/time_order.h"

#include <stdlib.h>
#include <string.h>

typedef struct kymo_time_order row;

/* Behind the last row that is in order with those from `at` on. */
static size_t end_of_run(const row *rows, size_t at, size_t n)
{
    size_t end = at < n ? at + 1 : n;
    while (end < n && rows[end - 1].time_ns <= rows[end].time_ns)
        end++;
    return end;
}

/* Two runs that lie one behind the other, to the same place of the other array. */
static void merge(const row *rows, size_t at, size_t middle, size_t end, row *to)
{
    size_t left = at, right = middle;
    while (left < middle && right < end)
        to[at++] = rows[rows[right].time_ns < rows[left].time_ns ? right++ : left++];
    memcpy(to + at, rows + left, (middle - left) * sizeof *to);
    memcpy(to + at + (middle - left), rows + right, (end - right) * sizeof *to);
}

/* Merges each two runs. Returns how many there were. */
static size_t merge_pairs(const row *rows, size_t n, row *to)
{
    size_t runs = 0;
    for (size_t at = 0; at < n;) {
        size_t middle = end_of_run(rows, at, n), end = end_of_run(rows, middle, n);
        merge(rows, at, middle, end, to);
        runs += end > middle ? 2 : 1;
        at = end;
    }
    return runs;
}

/* Sorts n rows; there is room for as many in `other`. Returns where they are. */
static row *sort(row *rows, row *other, size_t n)
{
    if (end_of_run(rows, 0, n) == n)
        return rows;
    for (size_t runs = 3; runs > 2;) {
        runs = merge_pairs(rows, n, other);
        row *sorted = other;
        other = rows;
        rows = sorted;
    }
    return rows;
}

kymo_err kymo_time_order_make(const uint64_t *times, size_t stride, size_t n,
                              struct kymo_time_order **order)
{
    row *rows = calloc(n, sizeof *rows), *other = calloc(n, sizeof *other);
    if (!rows || !other) {
        free(rows);
        free(other);
        return KYMO_E_NOMEM;
    }
    const char *at = (const char *)times;
    for (size_t i = 0; i < n; i++) {
        memcpy(&rows[i].time_ns, at + i * stride, sizeof rows[i].time_ns);
        rows[i].from = i;
    }
    *order = sort(rows, other, n);
    free(*order == rows ? other : rows);
    return KYMO_OK;
}
