/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_view.h - what each block of a process counts for in a format that adds them up.
 *
 * Layer:    encode; above profile
 * Flow:     heap_walk -> [heap_view] -> pprof_heap.c, collapsed_heap.c
 * Threads:  one owner at a time
 * Memory:   eight bytes for each block; the rows are the profile's
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_HEAP_VIEW_H
#define KYMO_ENCODE_HEAP_VIEW_H

#include "encode/encoder.h"
#include "profile/heap_walk.h"

typedef struct kymo_heap_view {
    const kymo_allocation *rows;
    size_t count;
    double *last; /* by row: kymo_heap_last_weights */
    uint32_t show;
    uint64_t at_ns;   /* what lives is counted then; KYMO_LIVES: at the end */
    uint64_t born_ns; /* and was born not later */
    double peak_bytes;
} kymo_heap_view;

/* Estimates of what was allocated, and of what lives. */
typedef struct kymo_heap_amount {
    double alloc_objects;
    double alloc_bytes;
    double live_objects;
    double live_bytes;
} kymo_heap_amount;

/* What the encoder's options ask for: one of the heap, or of time. */
uint32_t kymo_heap_shown(const kymo_encoder *encoder);

/* KYMO_E_NOMEM leaves nothing to deinit. */
KYMO_NODISCARD
kymo_err kymo_heap_view_init(kymo_heap_view *view, const kymo_encoder *encoder, uint32_t process);
void kymo_heap_view_deinit(kymo_heap_view *view);
/* Adds what one row counts for. */
void kymo_heap_view_add(const kymo_heap_view *view, size_t row, kymo_heap_amount *sum);

/* Rounds so that what was rounded adds up to the rounded sum: *sum is what came before, value comes
 * on top of it. */
uint64_t kymo_round_next(double *sum, double value);

#endif
