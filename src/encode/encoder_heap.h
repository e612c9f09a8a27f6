/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder_heap.h - what each block counts for in a format that adds them up: the same as in a
 * report.
 *
 * Layer:    encode; above profile
 * Flow:     heap_select -> [encoder_heap] -> pprof_heap.c, collapsed_heap.c
 * Threads:  one owner at a time
 * Memory:   eight bytes for each block
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_ENCODER_HEAP_H
#define KYMO_ENCODE_ENCODER_HEAP_H

#include "encode/encoder.h"
#include "views/heap_select.h"

typedef struct kymo_encoder_heap {
    struct kymo_heap_selection selection; /* of what lives */
    struct kymo_heap_selection before;    /* of what is taken off, if has_before */
    uint32_t has_before;
    uint32_t show;
} kymo_encoder_heap;

/* Estimates of what was allocated, and of what lives. */
typedef struct kymo_heap_amount {
    double alloc_objects;
    double alloc_bytes;
    double live_objects;
    double live_bytes;
} kymo_heap_amount;

/* A block, or a mapping, as a format sees it. */
typedef struct kymo_encoder_block {
    uint32_t thread;
    uint32_t stack;
    uint32_t labels;
    uint64_t bytes;
    double weight;
} kymo_encoder_block;

/* What the encoder's options ask for: one of the heap, or of time. */
uint32_t kymo_heap_shown(const kymo_encoder *encoder);

/* KYMO_E_NOMEM leaves nothing to deinit. */
KYMO_NODISCARD
kymo_err kymo_encoder_heap_init(kymo_encoder_heap *view, const kymo_encoder *encoder);
void kymo_encoder_heap_deinit(kymo_encoder_heap *view);
/* Adds what one block of a process counts for. */
void kymo_encoder_heap_add(const kymo_encoder_heap *view, uint32_t process, size_t row,
                           kymo_heap_amount *sum);

#define KYMO_ROUND_MAX 0x1p62 /* what is written fits in 64 bits, sign included */

kymo_encoder_block kymo_encoder_heap_block(const kymo_encoder_heap *view, uint32_t process,
                                           size_t row);

/* Rounds so that what was rounded adds up to the rounded sum: *sum is what came before, value comes
 * on top of it. */
int64_t kymo_round_next(double *sum, double value);

#endif
