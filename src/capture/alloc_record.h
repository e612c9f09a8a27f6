/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_record.h - records of memory, on their way into a thread's stream.
 *
 * Layer:    capture
 * Flow:     alloc.c -> [alloc_record] -> claim.h, buffer/stream.h
 * Threads:  the calling one's streams
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_ALLOC_RECORD_H
#define KYMO_CAPTURE_ALLOC_RECORD_H

#include <stdint.h>

#include "base/attr.h"
#include "capture/state.h"

/* The calling thread, if it can record; it is not asked whether there is a recorder. */
KYMO_SIGNAL_SAFE static inline struct kymo_capture_thread *kymo_alloc_thread(void)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    return kymo_likely(t && t->mark_epoch) ? t : NULL;
}

/* The parts of an id: record.h. */
#define KYMO_ALLOC_ID_SLOT_SHIFT 40
#define KYMO_ALLOC_ID_EPOCH_SHIFT 52

KYMO_SIGNAL_SAFE static inline uint64_t kymo_alloc_id_epoch(const struct kymo_capture_process *p)
{
    return p->mark_epoch & 0xfff;
}

/* Claims a stream and finds room for a record in it; NULL: there is none (counted), and nothing is
 * claimed. Ends with kymo_mark_publish. What waits to be told is told before. */
KYMO_SIGNAL_SAFE void *kymo_alloc_reserve(struct kymo_capture_thread *thread,
                                          struct kymo_stream_writer **writer, uint32_t size_bytes,
                                          enum kymo_loss_kind loss, uint64_t here);

/* An allocation that was recorded is freed. If the calling thread cannot write the record, it is
 * written later. */
KYMO_SIGNAL_SAFE void kymo_alloc_end_block(uint64_t id, uint64_t here);

/* Tells what waits. */
KYMO_SIGNAL_SAFE void kymo_alloc_repay(struct kymo_capture_thread *thread, uint64_t here);

/* In a forked child that has attached: what it has of its parent's allocations is told from here
 * on, so many slots of the table at each call. */
KYMO_SIGNAL_SAFE void kymo_alloc_inherit_begin(void);
KYMO_SIGNAL_SAFE int kymo_alloc_inherit_waits(void);
KYMO_SIGNAL_SAFE void kymo_alloc_inherit(struct kymo_capture_thread *thread, uint32_t slots,
                                         uint64_t here);

/* alloc_early.c: allocations that were made, and perhaps freed, before the process was recorded, by
 * its loader and by the constructors of other libraries. */

/* The constructors of LLVM or V8 ask for thousands. Memory that is not used is not touched. */
#define KYMO_ALLOC_EARLY_BLOCKS 65536u

struct kymo_alloc_early {
    uint64_t address; /* 0: told, or resized into another one */
    uint64_t bytes;
    uint64_t caller; /* where the call returns to */
    uint64_t ended;  /* 1: given back */
};

/* Notes an allocation, which is in the table under its id from here on; ids are from 1 to
 * KYMO_ALLOC_EARLY_BLOCKS, as of no session. One for which there is no room is counted. */
KYMO_SIGNAL_SAFE void kymo_alloc_early_note(uint64_t address, uint64_t bytes, uint64_t caller);

/* It is given back. */
KYMO_SIGNAL_SAFE void kymo_alloc_early_end(uint64_t id);

/* It is resized: a block that is noted anew. */
KYMO_SIGNAL_SAFE void kymo_alloc_early_drop(uint64_t id);

/* Takes the one of that id, once; 0: there is none. */
KYMO_SIGNAL_SAFE int kymo_alloc_early_take(uint64_t id, struct kymo_alloc_early *block);

/* How many were not noted; none, from here on. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_early_lost(void);

/* alloc_late.c: keeps frees that could not be recorded when they happened: there was no room,
 * or the thread's record has ended. The next thread that writes a record writes them, too. */

#define KYMO_ALLOC_LATE 256u

/* 0: there are too many already. */
KYMO_SIGNAL_SAFE int kymo_alloc_late_put(uint64_t id);

/* Whether there may be any: one load. */
KYMO_SIGNAL_SAFE int kymo_alloc_late_waits(void);

/* One of them, 0: there is none. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_late_take(void);

/* In a forked child: those are its parent's. */
KYMO_SIGNAL_SAFE void kymo_alloc_late_forget(void);

#endif
