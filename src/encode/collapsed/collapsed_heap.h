/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed_heap.h - the bytes of each thread's blocks, as collapsed stacks show them.
 *
 * Layer:    encode; above profile
 * Flow:     encoder_heap -> [collapsed_heap] -> collapsed.c
 * Threads:  one owner at a time
 * Memory:   16 bytes for each block that is shown
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_COLLAPSED_COLLAPSED_HEAP_H
#define KYMO_ENCODE_COLLAPSED_COLLAPSED_HEAP_H

#include "encode/encoder.h"

typedef struct kymo_collapsed_block {
    uint32_t thread;
    uint32_t stack;
    uint64_t bytes; /* that it stands for */
} kymo_collapsed_block;

/* By thread. */
typedef KYMO_VEC(kymo_collapsed_block) kymo_collapsed_blocks;

/* Of all processes; the caller deinits the vector, after an error, too. */
KYMO_NODISCARD
kymo_err kymo_collapsed_find_blocks(const kymo_encoder *encoder, kymo_collapsed_blocks *blocks);
/* The first one of a thread; those behind it are of it, too, until another one's come. */
size_t kymo_collapsed_first_block(const kymo_collapsed_blocks *blocks, uint32_t thread);

#endif
