/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_ring.h - the newest blocks of samples, markers, counts and labels.
 *
 * Layer:    recording
 * Flow:     recording_write_*.c -> [ring] -> recording_write.c, at the end -> block_out
 * Threads:  the writer's
 * Memory:   the writer owns the structure; the ring owns its blocks, at most most_bytes of them
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_RING_H
#define KYMO_RECORDING_RECORDING_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "recording/events.h"
#include "recording/recording_format.h"
#include "recording/recording_labels.h"

struct kymo_ring_block {
    struct kymo_ring_block *next; /* the next newer one */
    enum kymo_block_type type;
    size_t len;
    unsigned char payload[];
};

struct kymo_recording_ring {
    uint64_t most_bytes; /* 0: no ring */
    uint64_t bytes;      /* of the blocks, with their overhead */
    struct kymo_ring_block *oldest, *newest;
    KYMO_VEC(kymo_event_dropped) threads; /* by thread; ring_bytes 0: nothing dropped */
    kymo_event_dropped rest;              /* of events without a thread */
    struct kymo_kept_labels labels;       /* that applied at the begin of what is kept */
};

void kymo_ring_init(struct kymo_recording_ring *ring, uint64_t most_bytes);
void kymo_ring_deinit(struct kymo_recording_ring *ring);
/* Whether blocks of this type go into a ring. */
static inline int kymo_ring_takes(enum kymo_block_type type)
{
    return type == KYMO_BLOCK_SAMPLES || type == KYMO_BLOCK_MARKERS || type == KYMO_BLOCK_COUNTS ||
           type == KYMO_BLOCK_LABELS;
}
/* Adds a copy of a block's payload. Drops the oldest blocks to make room, and counts their
 * events. A block larger than the ring is itself dropped. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_ring_put(struct kymo_recording_ring *ring, enum kymo_block_type type,
                       const kymo_bytes *payload);
/* Frees the oldest block, which must exist, without counting. */
void kymo_ring_pop(struct kymo_recording_ring *ring);

#endif
