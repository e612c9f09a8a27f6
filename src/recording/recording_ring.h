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
    uint64_t most_bytes; /* 0: there is no ring */
    uint64_t bytes;      /* of the blocks, with what each takes itself */
    struct kymo_ring_block *oldest, *newest;
    KYMO_VEC(kymo_event_dropped) threads; /* by thread; ring_bytes 0: nothing was dropped */
    kymo_event_dropped rest;              /* of no thread */
    struct kymo_kept_labels labels;       /* that hold where what is kept begins */
};

void kymo_ring_init(struct kymo_recording_ring *ring, uint64_t most_bytes);
void kymo_ring_deinit(struct kymo_recording_ring *ring);
/* Whether blocks of this type go into a ring. */
static inline int kymo_ring_takes(enum kymo_block_type type)
{
    return type == KYMO_BLOCK_SAMPLES || type == KYMO_BLOCK_MARKERS || type == KYMO_BLOCK_COUNTS ||
           type == KYMO_BLOCK_LABELS;
}
/* Copies the payload of a block as the writer makes it; drops as many of the oldest as it needs the
 * room of, and counts what they held. One that is larger than the ring is itself dropped.
 * KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_ring_put(struct kymo_recording_ring *ring, enum kymo_block_type type,
                       const kymo_bytes *payload);
/* Frees the oldest block, which there must be, without counting. */
void kymo_ring_pop(struct kymo_recording_ring *ring);

#endif
