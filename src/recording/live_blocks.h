/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_blocks.h - the blocks of one process that live, while it is recorded.
 *
 * Layer:    recording
 * Flow:     recording_kept.c (events of a process's threads) -> [live_blocks] -> the next segment
 * Threads:  the writer's
 * Memory:   some 120 bytes for each block that lives, at most KYMO_LIVE_BLOCKS_MAX of them
 * Signals:  not for handlers
 *
 * Events of one thread come in their order, those of several threads do not: a free or a resize may
 * come before the allocation. Some orders cannot be set right without the events before. The table
 * then says that it is not exact, and stays so.
 */
#ifndef KYMO_RECORDING_LIVE_BLOCKS_H
#define KYMO_RECORDING_LIVE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/key_map.h"
#include "base/vec.h"
#include "recording/events_heap.h"

#define KYMO_LIVE_BLOCKS_MAX (1u << 20)
#define KYMO_LIVE_FREED_MAX 1024u /* of each kind of those that are remembered */

/* Labels and their texts in one piece of memory. */
struct kymo_live_labels {
    uint32_t count;
    uint32_t reserved;
    kymo_event_live_label labels[];
};

enum kymo_live_state {
    KYMO_LIVE_UNUSED,  /* free place of the table */
    KYMO_LIVE_HERE,    /* it lives */
    KYMO_LIVE_RESIZED, /* the same; its allocation was not seen yet */
    KYMO_LIVE_FREED,   /* its free came, and nothing before it */
    KYMO_LIVE_ENDED,   /* it lived, and its free came; a resize by another thread may come yet */
};

struct kymo_live_block {
    uint64_t id;
    uint64_t address, bytes;
    uint64_t birth_ns, time_ns;
    double weight;
    uint64_t grown; /* of a resized one: by how much; of an unused place: the next one */
    uint32_t thread, stack, stack_process;
    uint32_t slack;
    uint16_t family;
    uint8_t state; /* enum kymo_live_state */
    uint8_t is_inherited;
    struct kymo_live_labels *labels; /* NULL: none */
};

struct kymo_live_free {
    uint64_t id, time_ns;
};

/* The last blocks that were freed. */
struct kymo_live_freed {
    KYMO_VEC(struct kymo_live_free) ring;
    uint32_t oldest;     /* of a full one */
    uint64_t dropped_ns; /* the latest free that is not in it any more */
};

/* Zero bytes are a valid, empty table; set process. */
struct kymo_live_blocks {
    uint32_t process; /* whose they are */
    KYMO_VEC(struct kymo_live_block) places;
    kymo_key_map by_id;                  /* places */
    uint32_t unused;                     /* the first unused place + 1; 0: none */
    struct kymo_live_freed freed, ended; /* in the state of that name */
    int is_inexact;
};

void kymo_live_blocks_deinit(struct kymo_live_blocks *t);
/* Forgets all blocks, for good: the table is not exact from then on. */
void kymo_live_blocks_give_up(struct kymo_live_blocks *t);

/* An allocation; labels become the table's, also when it fails (KYMO_E_NOMEM). */
KYMO_NODISCARD
kymo_err kymo_live_blocks_add(struct kymo_live_blocks *t, const kymo_event_allocation *e,
                              struct kymo_live_labels *labels);
KYMO_NODISCARD
kymo_err kymo_live_blocks_free(struct kymo_live_blocks *t, const kymo_event_free *e);
/* Labels as above: those that it has if it grew. */
KYMO_NODISCARD
kymo_err kymo_live_blocks_resize(struct kymo_live_blocks *t, const kymo_event_resize *e,
                                 struct kymo_live_labels *labels);
/* A block of the process that this one was forked from; parent NULL: that is not known. */
KYMO_NODISCARD
kymo_err kymo_live_blocks_inherit(struct kymo_live_blocks *t, const struct kymo_live_blocks *parent,
                                  const kymo_event_inherit *e, uint64_t fork_ns);

static inline int kymo_live_block_lives(const struct kymo_live_block *b)
{
    return b->state == KYMO_LIVE_HERE || b->state == KYMO_LIVE_RESIZED;
}
/* NULL: it is not there. Valid until the table is changed. */
const struct kymo_live_block *kymo_live_blocks_find(const struct kymo_live_blocks *t, uint64_t id);

#endif
