/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_ring.h - reads what a perf event tells of each interrupt: when, and where in the kernel.
 *
 * Layer:    observe
 * Flow:     kernel -> [ring] -> kernel_stacks.c
 * Threads:  the recorder's one thread; the kernel writes beside it
 * Memory:   a mapping of the event's; it keeps the event alive, so unmap before the close
 * Signals:  not for handlers
 */
#ifndef KYMO_OBSERVE_KERNEL_RING_H
#define KYMO_OBSERVE_KERNEL_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The deepest part of a stack that is kept: kernel.perf_event_max_stack is 127 by default. */
#define KYMO_KERNEL_DEPTH_MAX 128u

/* One interrupt. depth 0: the thread was not in the kernel. */
struct kymo_kernel_record {
    uint64_t time_ns;
    uint32_t depth;
    uint64_t pcs[KYMO_KERNEL_DEPTH_MAX]; /* innermost first; all but the first are return
                                            addresses */
};

struct kymo_kernel_ring {
    void *map; /* NULL: none */
    size_t map_bytes;
    size_t data_bytes; /* a power of two */
    const unsigned char *data;
};

/* Called for each record; an error ends the reading, and the record counts as read. */
typedef kymo_err (*kymo_kernel_record_sink)(void *context, const struct kymo_kernel_record *record);

/* Maps the ring of an event of kymo_perf_open_chains. data_bytes: a power of two of pages.
 * KYMO_E_IO (errno): the kernel gives none, as where too much is locked already. */
KYMO_NODISCARD
kymo_err kymo_kernel_ring_open(struct kymo_kernel_ring *ring, int fd, size_t data_bytes);
void kymo_kernel_ring_close(struct kymo_kernel_ring *ring);

/* Everything up to now. *lost grows by what found no room. */
KYMO_NODISCARD
kymo_err kymo_kernel_ring_read(struct kymo_kernel_ring *ring, kymo_kernel_record_sink sink,
                               void *context, uint64_t *lost);

/* The same over data_bytes of memory from *tail to head, which only grow; for the tests. Whatever
 * the bytes are: nothing beyond them is read, and *tail is head at the end. */
KYMO_NODISCARD
kymo_err kymo_kernel_records_read(const unsigned char *data, size_t data_bytes, uint64_t *tail,
                                  uint64_t head, kymo_kernel_record_sink sink, void *context,
                                  uint64_t *lost);

#endif
