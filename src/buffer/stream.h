/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - carries records from one thread (or its signal handler) to the recorder.
 *
 * Layer:    buffer
 * Flow:     capture/ -> [stream of blocks] -> drain.c
 * Threads:  one writer at a time (the owning thread, or a handler on it), one drain
 * Memory:   blocks of the session; a writer never allocates anything else
 * Signals:  safe; a stream is never entered twice at once: each writer claims it
 * (capture/claim.h)
 *
 * A stream is a chain of blocks. The writer fills the last one and publishes its head with one
 * release store a record; when a block is full it takes another, and links it before it writes
 * there. The drain reads up to the published head, and gives a block back once it is read to its
 * end and has a successor. The first two blocks of a stream are small, later ones large ones:
 * threads that do little cost little. When one size is used up, the other one serves.
 */
#ifndef KYMO_BUFFER_STREAM_H
#define KYMO_BUFFER_STREAM_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "buffer/session.h"

/* The writer's private state; zeroed memory is a stream that has written nothing. */
struct kymo_stream_writer {
    struct kymo_block *block; /* NULL: none yet */
    uint32_t used;            /* bytes in the block, published or not */
    uint32_t room;            /* bytes of the block */
    uint32_t blocks;          /* taken so far */
    uint32_t kind;            /* enum kymo_stream_kind */
    uint64_t claim;           /* who is in the middle of a record here; 0: none */
};

/* Room for a record of size_bytes (at most 4 KiB - 64; but for calls a multiple of 8), not yet
 * published; NULL when no block is free: the caller counts the loss. */
KYMO_SIGNAL_SAFE void *kymo_stream_reserve(struct kymo_stream_writer *writer,
                                           struct kymo_session *session,
                                           const struct kymo_session_plan *plan, uint32_t slot,
                                           uint32_t size_bytes);

/* As publish, later: the reader takes it when the writer is gone, or when it is published by
 * kymo_stream_release. Until then it may be taken back. */
KYMO_SIGNAL_SAFE static inline void kymo_stream_hold(struct kymo_stream_writer *writer,
                                                     uint32_t size_bytes)
{
    writer->used += size_bytes;
    /* Pairs with the drain's acquire, as above. */
    kymo_store_release(&writer->block->held, size_bytes);
}

KYMO_SIGNAL_SAFE static inline void kymo_stream_take_back(struct kymo_stream_writer *writer,
                                                          uint32_t size_bytes)
{
    writer->used -= size_bytes;
    kymo_store_relaxed(&writer->block->held, 0u);
}

KYMO_SIGNAL_SAFE static inline void kymo_stream_release(struct kymo_stream_writer *writer)
{
    /* First: a process that is killed in between loses one, and tells of none twice. */
    kymo_store_relaxed(&writer->block->held, 0u);
    kymo_store_release(&writer->block->head, writer->used);
}

/* Publishes what the last reserve gave. */
KYMO_SIGNAL_SAFE static inline void kymo_stream_publish(struct kymo_stream_writer *writer,
                                                        uint32_t size_bytes)
{
    writer->used += size_bytes;
    /* Pairs with the drain's acquire: the record is whole before it is seen. */
    kymo_store_release(&writer->block->head, writer->used);
}

/* Slots of threads and blocks, taken and given back. take returns number + 1, or 0. */
KYMO_SIGNAL_SAFE uint32_t kymo_slot_take(struct kymo_session *session,
                                         const struct kymo_session_plan *plan);
/* Whether there is one, just now. */
KYMO_SIGNAL_SAFE static inline int kymo_slot_is_free(const struct kymo_session *session,
                                                     const struct kymo_session_plan *plan)
{
    return (uint32_t)kymo_load_relaxed(&session->free_slots) - 1 < plan->threads;
}
KYMO_SIGNAL_SAFE void kymo_slot_give(struct kymo_session *session,
                                     const struct kymo_session_plan *plan, uint32_t slot);
KYMO_SIGNAL_SAFE uint32_t kymo_block_take(struct kymo_session *session,
                                          const struct kymo_session_plan *plan, int large);
void kymo_block_give(struct kymo_session *session, const struct kymo_session_plan *plan,
                     uint32_t block);
/* How many sixteenths of the blocks' bytes are in use, about. */
KYMO_SIGNAL_SAFE uint32_t kymo_blocks_in_use(const struct kymo_session *session,
                                             const struct kymo_session_plan *plan);

#endif
