/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write.c - events become the payloads of chunks.
 *
 *   stack ──► pending stacks ──┐ (delta against the stack before)
 *   samples ► pending samples ─┤ (runs of one thread)
 *   calls ──► pending calls ───┤ (the same)
 *   marker, count, label ──────┤ (pending rows of each)
 *   allocation, its end, ... ──┤ (pending rows of memory)
 *                              ├─► chunk_out ──► fd
 *   any other event ───────────┘
 *
 * In a flight recorder (kymo_recording_keep_newest) chunks of samples, calls, markers, counts and
 * labels go to recording_ring.c instead, and from there to chunk_out at the end.
 *
 * Pending stacks are written before pending samples and rows, which refer to them. Other events are
 * written immediately, before what is pending: definitions may come early, and the format allows
 * ends to come early, too.
 *
 * This file has the writer itself; each family of chunks has a file (recording_write_*.c).
 */
#include "recording/recording_write_event.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sys/write_all.h"

static kymo_err create(int fd, unsigned flags, int continues, kymo_recording_writer **out)
{
    kymo_recording_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return KYMO_E_NOMEM;
    w->flags = flags;
    kymo_bytes_init(&w->event, KYMO_CHUNK_LENGTH_MAX);
    kymo_bytes_init(&w->stacks, KYMO_CHUNK_LENGTH_MAX);
    kymo_bytes_init(&w->samples, KYMO_CHUNK_LENGTH_MAX);
    w->pending_bytes = KYMO_PENDING_BYTES;
    kymo_writer_init_rows(w);
    kymo_writer_init_calls(w);
    kymo_err err = kymo_chunk_out_init(&w->out, fd, continues);
    if (err != KYMO_OK) {
        kymo_recording_writer_destroy(w);
        return err;
    }
    w->out.goes_on = (flags & KYMO_RECORDING_INTERVALS) != 0;
    w->has_meta = continues;
    *out = w;
    return KYMO_OK;
}

kymo_err kymo_recording_writer_create(int fd, unsigned flags, kymo_recording_writer **out)
{
    return create(fd, flags, 0, out);
}

kymo_err kymo_recording_writer_continue(int fd, kymo_recording_writer **out)
{
    return create(fd, 0, 1, out);
}

void kymo_recording_writer_destroy(kymo_recording_writer *w)
{
    if (w == NULL)
        return;
    kymo_chunk_out_deinit(&w->out);
    kymo_bytes_deinit(&w->event);
    kymo_bytes_deinit(&w->stacks);
    kymo_bytes_deinit(&w->samples);
    kymo_writer_deinit_rows(w);
    kymo_writer_deinit_calls(w);
    kymo_ring_deinit(&w->ring);
    kymo_kept_deinit(&w->kept);
    kymo_vec_deinit(&w->last);
    free(w);
}

kymo_err kymo_writer_close_all(kymo_recording_writer *w)
{
    KYMO_TRY(kymo_writer_close_samples(w));
    KYMO_TRY(kymo_writer_close_calls(w));
    return kymo_writer_close_rows(w);
}

void kymo_recording_hurry(kymo_recording_writer *w, int hurries)
{
    w->hurries = hurries;
}

kymo_err kymo_writer_put_chunk(kymo_recording_writer *w, enum kymo_chunk_type type,
                               kymo_bytes *payload, int compress)
{
    if (w->ring.most_bytes && kymo_ring_takes(type))
        return kymo_ring_put(&w->ring, type, payload);
    return kymo_chunk_out_put(&w->out, type, payload, compress);
}

void kymo_recording_keep_newest(kymo_recording_writer *w, uint64_t most_bytes)
{
    kymo_ring_init(&w->ring, most_bytes);
    /* Chunks are dropped whole, so a chunk is at most a sixteenth of the ring. */
    if (most_bytes / 16 < KYMO_PENDING_BYTES)
        w->pending_bytes = most_bytes / 16;
}

/* ---- segments ---- */

void kymo_recording_keep_definitions(kymo_recording_writer *w)
{
    w->kept.is_on = 1;
    w->kept.segment = 1;
    kymo_bytes_init(&w->kept.again, KYMO_CHUNK_LENGTH_MAX);
}

static kymo_err begin_segment(kymo_recording_writer *w, int fd,
                              const struct kymo_interval_start *start)
{
    if (!w->kept.is_on || !w->has_meta)
        return KYMO_E_INVALID;
    kymo_chunk_out_deinit(&w->out);
    KYMO_TRY(kymo_chunk_out_init(&w->out, fd, 0));
    w->out.goes_on = (w->flags & KYMO_RECORDING_INTERVALS) != 0;
    w->ended = 0;
    w->stack_count = w->group_count = 0;
    kymo_ring_deinit(&w->ring);
    w->ring.most_bytes = 0;
    kymo_writer_drop_rows(w);
    kymo_writer_drop_calls(w);
    kymo_err err = kymo_kept_begin(w, start);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

kymo_err kymo_recording_begin_segment(kymo_recording_writer *w, int fd)
{
    return begin_segment(w, fd, NULL);
}

kymo_err kymo_recording_begin_interval(kymo_recording_writer *w, int fd,
                                       const struct kymo_interval_start *start)
{
    return begin_segment(w, fd, start);
}

/* ---- a flight recorder ---- */

static kymo_err write_kept(kymo_recording_writer *w)
{
    struct kymo_recording_ring *ring = &w->ring;
    KYMO_TRY(kymo_writer_close_all(w));
    ring->rest.ring_bytes = ring->most_bytes;
    ring->most_bytes = 0; /* later events go to the file */
    KYMO_TRY(kymo_kept_labels_send(&ring->labels, &kymo_recording_write_handler, w));
    KYMO_TRY(kymo_writer_close_rows(w));
    for (uint32_t t = 0; t < ring->open.threads.len; t++)
        KYMO_TRY(kymo_open_calls_put(&ring->open, t, 0, w));
    KYMO_TRY(kymo_writer_close_calls(w));
    for (const struct kymo_ring_chunk *b; (b = ring->oldest) != NULL; kymo_ring_pop(ring)) {
        kymo_bytes_clear(&w->event);
        KYMO_TRY(kymo_bytes_append(&w->event, b->payload, b->len));
        KYMO_TRY(kymo_chunk_out_put(&w->out, b->type, &w->event, 0));
    }
    for (size_t i = 0; i < ring->threads.len; i++)
        if (ring->threads.data[i].ring_bytes)
            KYMO_TRY(kymo_recording_write_dropped(w, &ring->threads.data[i]));
    return kymo_recording_write_dropped(w, &ring->rest);
}

kymo_err kymo_recording_write_kept(kymo_recording_writer *w)
{
    KYMO_TRY(kymo_writer_may_write(w));
    kymo_err err = w->ring.most_bytes ? write_kept(w) : KYMO_OK;
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

/* ---- a copy ---- */

static kymo_err copy_bytes(int from, off_t at, uint64_t len, int to)
{
    char buffer[65536];
    while (len) {
        ssize_t n = pread(from, buffer, len < sizeof buffer ? len : sizeof buffer, at);
        if (n < 0)
            return kymo_err_from_errno(errno);
        if (n == 0)
            return KYMO_E_TRUNCATED;
        if (kymo_write_all(to, buffer, (size_t)n) != (size_t)n)
            return kymo_err_from_errno(errno);
        at += n;
        len -= (uint64_t)n;
    }
    return KYMO_OK;
}

kymo_err kymo_recording_snapshot(kymo_recording_writer *w, int from, int to, uint64_t end_ns)
{
    if (w->out.start < 0)
        return KYMO_E_UNSUPPORTED;
    KYMO_TRY(copy_bytes(from, w->out.start, w->out.written, to));
    w->out.fd = to;
    w->out.start = 0;
    return kymo_recording_write_end(w, &(kymo_event_end){.end_ns = end_ns});
}

kymo_err kymo_recording_flush(kymo_recording_writer *w)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    /* events for the ring can wait */
    kymo_err err = w->ring.most_bytes ? kymo_writer_close_stacks(w) : kymo_writer_close_all(w);
    if (err == KYMO_OK)
        err = kymo_chunk_out_flush(&w->out);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

kymo_err kymo_recording_error(const kymo_recording_writer *w, kymo_error *detail)
{
    if (w->out.error.code != KYMO_OK && detail != NULL)
        *detail = w->out.error;
    return w->out.error.code;
}

kymo_err kymo_recording_missed(const kymo_recording_writer *w, kymo_error *detail)
{
    if (w->out.missed.code != KYMO_OK && detail != NULL)
        *detail = w->out.missed;
    return w->out.missed.code;
}

int kymo_recording_keeps_all(const kymo_recording_writer *w)
{
    return w->ring.most_bytes == 0;
}

uint64_t kymo_recording_end_at(const kymo_recording_writer *w)
{
    return w->end_at;
}

uint64_t kymo_recording_bytes(const kymo_recording_writer *w)
{
    return w->out.written;
}

/* ---- the writer as a handler ----------------------------------------------------------------- */

#define X(name, type)                                                            \
    static kymo_err on_##name(void *ctx, const kymo_event_##type *event)         \
    {                                                                            \
        return kymo_recording_write_##name((kymo_recording_writer *)ctx, event); \
    }
KYMO_EVENT_LIST(X)
X(raw_calls, raw_calls)
#undef X

const kymo_event_handler kymo_recording_write_handler = {
#define X(name, type) .name = on_##name,
    KYMO_EVENT_LIST(X) X(raw_calls, raw_calls)
#undef X
};
