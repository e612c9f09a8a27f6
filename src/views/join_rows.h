/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_rows.h - makes one row of all that have the same key.
 *
 * Layer:    views (cold half), private to the stage
 * Flow:     rows of two profiles -> [join_rows] -> marker_diff.c, ledger_diff.c
 * Threads:  any
 * Memory:   the caller's rows
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_JOIN_ROWS_H
#define KYMO_VIEWS_JOIN_ROWS_H

#include <stdlib.h>
#include <string.h>

/* Sorts the rows by their keys, and adds each to the first one of its key. Returns how many there
 * are then. */
static inline size_t kymo_join_rows(void *rows, size_t count, size_t size,
                                    int (*compare)(const void *, const void *),
                                    void (*add)(void *to, const void *from))
{
    char *to = rows;
    if (count == 0)
        return 0;
    qsort(rows, count, size, compare);
    for (char *from = to + size; from < (char *)rows + count * size; from += size)
        if (compare(to, from) == 0)
            add(to, from);
        else
            memmove(to += size, from, size);
    return (size_t)(to - (char *)rows) / size + 1;
}

#endif
