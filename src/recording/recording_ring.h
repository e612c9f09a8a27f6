/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_ring.h - the newest chunks of samples, calls, markers, counts and labels.
 *
 * Layer:    recording
 * Flow:     recording_write_*.c -> [ring] -> recording_write.c, at the end -> chunk_out
 * Threads:  the writer's
 * Memory:   the writer owns the structure; the ring owns its chunks, at most most_bytes of them
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_RING_H
#define KYMO_RECORDING_RECORDING_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "recording/events.h"
#include "recording/open_calls.h"
#include "recording/recording_format.h"
#include "recording/recording_labels.h"

struct kymo_ring_chunk {
    struct kymo_ring_chunk *next; /* the next newer one */
    enum kymo_chunk_type type;
    size_t len;
    unsigned char payload[];
};

struct kymo_recording_ring {
    uint64_t most_bytes; /* 0: no ring */
    uint64_t bytes;      /* of the chunks, with their overhead */
    struct kymo_ring_chunk *oldest, *newest;
    KYMO_VEC(kymo_event_dropped) threads; /* by thread; ring_bytes 0: nothing dropped */
    kymo_event_dropped rest;              /* of events without a thread */
    struct kymo_kept_labels labels;       /* that applied at the begin of what is kept */
    struct kymo_open_calls open;          /* that ran then */
};

void kymo_ring_init(struct kymo_recording_ring *ring, uint64_t most_bytes);
void kymo_ring_deinit(struct kymo_recording_ring *ring);
/* Whether chunks of this type go into a ring. */
static inline int kymo_ring_takes(enum kymo_chunk_type type)
{
    return type == KYMO_CHUNK_SAMPLES || type == KYMO_CHUNK_CALLS || type == KYMO_CHUNK_MARKERS ||
           type == KYMO_CHUNK_COUNTS || type == KYMO_CHUNK_LABELS;
}
/* Adds a copy of a chunk's payload. Drops the oldest chunks to make room, and counts their
 * events; a chunk larger than the ring is dropped behind them. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_ring_put(struct kymo_recording_ring *ring, enum kymo_chunk_type type,
                       const kymo_bytes *payload);
/* Frees the oldest chunk, which must exist, without counting. */
void kymo_ring_pop(struct kymo_recording_ring *ring);

#endif
