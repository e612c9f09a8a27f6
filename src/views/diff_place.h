/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_place.h - matches the rows of two reports.
 *
 * Layer:    views (cold half), private to the stage
 * Flow:     rows of reports -> [diff_place] -> aggregate_diff.c
 * Threads:  one owner at a time
 * Memory:   borrows the reports' texts
 * Signals:  not for handlers
 *
 * Rows match by name, source file and module: ids differ between recordings. What one of the two
 * reports does not know of any row, as that of collapsed stacks, does not tell rows apart.
 */
#ifndef KYMO_VIEWS_DIFF_PLACE_H
#define KYMO_VIEWS_DIFF_PLACE_H

#include "base/hash.h"
#include "base/vec.h"
#include "kymo/error.h"

struct kymo_diff_place {
    const char *name;
    const char *file;   /* NULL: not known */
    const char *module; /* likewise */
    uint32_t line;
};

/* All zero except the first three is an empty set. */
struct kymo_diff_places {
    int is_by_line;                   /* different lines are different rows */
    int without_file, without_module; /* these do not tell rows apart */
    KYMO_VEC(struct kymo_diff_place) list;
    kymo_index index;
};

/* The row's number; a new row gets the next number. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_diff_places_find(struct kymo_diff_places *places, struct kymo_diff_place wanted,
                               uint32_t *out);
void kymo_diff_places_deinit(struct kymo_diff_places *places);

#endif
