/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_ring.h - the ring that the kernel writes a perf event's records into.
 *
 * Layer:    observe
 * Flow:     perf_event.h -> [perf_ring] -> kernel_ring.c, stack_copy.c
 * Threads:  the recorder's main thread
 * Memory:   the ring is mapped; the kernel gives a user so much of it (perf_event_mlock_kb)
 * Signals:  not for handlers
 */
#ifndef KYMO_OBSERVE_PERF_RING_H
#define KYMO_OBSERVE_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kymo_perf_ring {
    void *map; /* NULL: none */
    size_t map_bytes;
    size_t data_bytes; /* a power of two */
    const unsigned char *data;
};

/* What is behind a record's header. bytes need not be aligned; they are valid during the call. */
struct kymo_perf_record {
    uint32_t type; /* PERF_RECORD_* */
    uint32_t misc;
    size_t len;
    const unsigned char *bytes;
};

/* Takes the records of a ring. A record that goes on at the ring's beginning is copied to scratch,
 * and what does not fit there is cut off. */
struct kymo_perf_ring_reader {
    /* An error ends the reading, and the record counts as read. */
    kymo_err (*record)(void *context, const struct kymo_perf_record *record);
    void *context;
    unsigned char *scratch;
    size_t scratch_bytes;
};

/* Maps an event's ring. data_bytes: a power of two of pages. KYMO_E_IO (errno): the kernel gives
 * none, as where too much is locked already. */
KYMO_NODISCARD
kymo_err kymo_perf_ring_open(struct kymo_perf_ring *ring, int fd, size_t data_bytes);
void kymo_perf_ring_close(struct kymo_perf_ring *ring);

/* How many bytes have not been read. */
size_t kymo_perf_ring_unread(const struct kymo_perf_ring *ring);
/* Everything up to now; nothing where there is no ring. */
KYMO_NODISCARD
kymo_err kymo_perf_ring_read(struct kymo_perf_ring *ring,
                             const struct kymo_perf_ring_reader *reader);

/* The same over data_bytes of memory from *tail to head, which only grow; for the tests. Whatever
 * the bytes are: nothing beyond them is read, and *tail is head at the end. */
KYMO_NODISCARD
kymo_err kymo_perf_records_read(const unsigned char *data, size_t data_bytes, uint64_t *tail,
                                uint64_t head, const struct kymo_perf_ring_reader *reader);

/* How many records found no room before this one, if it says so; else 0. */
uint64_t kymo_perf_record_lost(const struct kymo_perf_record *record);

#endif
