/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder_heap.h - what each allocation counts for in a format that sums them up, as in reports.
 *
 * Layer:    encode; above profile
 * Flow:     heap_select -> [encoder_heap] -> pprof_heap.c, collapsed_heap.c
 * Threads:  one owner at a time
 * Memory:   eight bytes for each allocation
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_ENCODER_HEAP_H
#define KYMO_ENCODE_ENCODER_HEAP_H

#include "encode/encoder.h"
#include "views/heap_select.h"

typedef struct kymo_encoder_heap {
    struct kymo_heap_selection selection; /* of live allocations */
    struct kymo_heap_selection before;    /* of what is subtracted, if has_before */
    uint32_t has_before;
    uint32_t show;
} kymo_encoder_heap;

/* Estimates of allocated and of live memory. */
typedef struct kymo_heap_amount {
    double alloc_objects;
    double alloc_bytes;
    double live_objects;
    double live_bytes;
} kymo_heap_amount;

/* An allocation or a mapping, as formats see it. */
typedef struct kymo_encoder_block {
    uint32_t thread;
    uint32_t stack;
    uint32_t labels;
    uint64_t bytes;
    double weight;
} kymo_encoder_block;

/* Whether the options request the heap instead of time. */
uint32_t kymo_heap_shown(const kymo_encoder *encoder);

/* KYMO_E_NOMEM leaves nothing to deinit. */
KYMO_NODISCARD
kymo_err kymo_encoder_heap_init(kymo_encoder_heap *view, const kymo_encoder *encoder);
void kymo_encoder_heap_deinit(kymo_encoder_heap *view);
/* Adds what one allocation of a process counts for. */
void kymo_encoder_heap_add(const kymo_encoder_heap *view, uint32_t process, size_t row,
                           kymo_heap_amount *sum);

#define KYMO_ROUND_MAX 0x1p62 /* limit of rounded values: they fit in a signed 64-bit integer */

kymo_encoder_block kymo_encoder_heap_block(const kymo_encoder_heap *view, uint32_t process,
                                           size_t row);

/* Rounds so that rounded values add up to the rounded sum: *sum is the sum before, to which
 * value is added. */
int64_t kymo_round_next(double *sum, double value);

#endif
