/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed_heap.h - the allocated bytes of each thread, for collapsed stacks.
 *
 * Layer:    encode; above profile
 * Flow:     encoder_heap -> [collapsed_heap] -> collapsed.c
 * Threads:  one owner at a time
 * Memory:   16 bytes for each allocation that is shown
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_COLLAPSED_COLLAPSED_HEAP_H
#define KYMO_ENCODE_COLLAPSED_COLLAPSED_HEAP_H

#include "encode/encoder.h"

typedef struct kymo_collapsed_block {
    uint32_t thread;
    uint32_t stack;
    uint64_t bytes; /* that it counts for */
} kymo_collapsed_block;

/* Sorted by thread. */
typedef KYMO_VEC(kymo_collapsed_block) kymo_collapsed_blocks;

/* Collects those of all processes. The caller deinits the vector, even after an error. */
KYMO_NODISCARD
kymo_err kymo_collapsed_find_blocks(const kymo_encoder *encoder, kymo_collapsed_blocks *blocks);
/* The first one of a thread; those of the same thread follow it. */
size_t kymo_collapsed_first_block(const kymo_collapsed_blocks *blocks, uint32_t thread);

#endif
