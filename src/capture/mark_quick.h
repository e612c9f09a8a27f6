/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_quick.h - a marker as it nearly always is: its thread and its site are known, its clock is
 * the time-stamp counter, and there is room in the block.
 *
 * Layer:    capture
 * Flow:     mark.c, mark_slow.c -> [quick] -> buffer/stream.h
 * Threads:  the calling one's streams
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_MARK_QUICK_H
#define KYMO_CAPTURE_MARK_QUICK_H

#include "buffer/record.h"
#include "capture/mark.h"

/* The site's number, if its thread and it are known and the clock is the usual one; else 0. */
KYMO_SIGNAL_SAFE KYMO_INLINE uint32_t kymo_mark_ready(const struct kymo_capture_thread *t,
                                                      const struct kymo_mark_site *site)
{
    if (kymo_unlikely(!t))
        return 0;
    uint32_t number = kymo_mark_site_number(site, kymo_thread_epoch);
    /* In a forked child the epoch is the parent's, and the thread's state is wiped. */
    if (kymo_unlikely(number == 0) || kymo_unlikely(t->mark_epoch != kymo_thread_epoch) ||
        kymo_unlikely(kymo_load_relaxed(t->other_clock)))
        return 0;
    return number;
}

/* The stream to write size_bytes to, claimed; NULL: the slow way. */
KYMO_SIGNAL_SAFE KYMO_INLINE struct kymo_stream_writer *kymo_mark_claim_room(
    struct kymo_capture_thread *t, uint32_t size_bytes, uint64_t frame)
{
    struct kymo_stream_writer *w = &t->streams[KYMO_STREAM_TASK];
    if (kymo_unlikely(w->claim))
        return NULL;
    kymo_store_relaxed(&w->claim, frame);
    kymo_signal_fence();
    /* As a sum: whatever has happened to a stream, nothing is written behind its block. */
    if (kymo_likely(w->used + size_bytes <= w->room))
        return w;
    kymo_claim_end(w);
    return NULL;
}

/* The second word of a record, but for its size. */
KYMO_SIGNAL_SAFE KYMO_INLINE uint64_t kymo_mark_head(uint32_t number, uint32_t flags)
{
    return KYMO_RECORD_MARKER | (uint64_t)number << 32 | (uint64_t)flags << 48;
}

KYMO_SIGNAL_SAFE KYMO_INLINE void kymo_mark_done(struct kymo_capture_thread *t,
                                                 struct kymo_stream_writer *w, uint32_t size_bytes)
{
    t->marks++;
    kymo_mark_publish(w, size_bytes);
}

/* mark_quick.c: kymo_mark and kymo_mark_scope_end of a site that is ready and has texts,
 * kymo_mark_with that says no more than that an interval begins or ends now, and kymo_mark_cells
 * without options; frame: theirs. 0: it is more than that, and nothing was recorded. */
KYMO_SIGNAL_SAFE int kymo_mark_texts(const struct kymo_mark_site *site, const void *payload,
                                     uint32_t number, uint64_t frame);
KYMO_SIGNAL_SAFE int kymo_mark_scope_texts(const struct kymo_mark_scope *scope, uint32_t number,
                                           uint64_t end, uint64_t frame);
KYMO_SIGNAL_SAFE int kymo_mark_end_of_interval(const struct kymo_mark_site *site,
                                               const void *payload,
                                               const struct kymo_mark_options *options,
                                               uint64_t frame);
KYMO_SIGNAL_SAFE int kymo_mark_plain_cells(const struct kymo_mark_site *site,
                                           const struct kymo_mark_cell *cells, uint32_t count,
                                           uint64_t frame);

#endif
