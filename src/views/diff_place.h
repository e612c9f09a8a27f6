/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_place.h - which rows of two reports are the same.
 *
 * Layer:    views (cold half), private to the stage
 * Flow:     rows of reports -> [diff_place] -> aggregate_diff.c
 * Threads:  one owner at a time
 * Memory:   borrows the reports' texts
 * Signals:  not for handlers
 *
 * Those of the same name, source and module are: ids mean nothing between two recordings.
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

/* Zeros but for is_by_line are an empty set. */
struct kymo_diff_places {
    int is_by_line; /* places of other lines are others */
    KYMO_VEC(struct kymo_diff_place) list;
    kymo_index index;
};

/* The place's number: that of a new one is the number of those before. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_diff_places_find(struct kymo_diff_places *places, struct kymo_diff_place wanted,
                               uint32_t *out);
void kymo_diff_places_deinit(struct kymo_diff_places *places);

#endif
