/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_samples.c - chunks of samples, in groups of one thread, and of the names of
 * waits.
 */
#include "recording/recording_write_event.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

kymo_err kymo_writer_close_samples(kymo_recording_writer *w)
{
    KYMO_TRY(kymo_writer_close_stacks(w));
    if (w->group_count == 0)
        return KYMO_OK;
    struct kymo_file_samples head = {
        .head_bytes = sizeof head,
        .sample_bytes = (uint16_t)w->sample_bytes,
        .groups = w->group_count,
    };
    memcpy(w->samples.data, &head, sizeof head);
    kymo_err err = kymo_writer_put_chunk(w, KYMO_CHUNK_SAMPLES, &w->samples,
                                         w->flags & KYMO_RECORDING_COMPRESS);
    kymo_bytes_clear(&w->samples);
    w->group_count = 0;
    return err;
}

/* Appends up to `count` samples to the pending chunk; continues an open group of the same
 * thread. */
static kymo_err append_samples(kymo_recording_writer *w, uint32_t thread,
                               const kymo_event_sample *samples, uint32_t count)
{
    static const struct kymo_file_samples no_head;
    static_assert(sizeof *samples == sizeof(struct kymo_file_sample), "layout");
    static_assert(offsetof(kymo_event_sample, kind) == offsetof(struct kymo_file_sample, kind),
                  "layout");
    struct kymo_file_group group = {.thread = thread};
    if (w->group_count == 0) {
        kymo_bytes_clear(&w->samples);
        KYMO_TRY(kymo_bytes_append(&w->samples, &no_head, sizeof no_head));
    } else {
        memcpy(&group, w->samples.data + w->group_at, sizeof group);
    }
    if (w->group_count == 0 || group.thread != thread) {
        group = (struct kymo_file_group){.thread = thread};
        w->group_at = w->samples.len;
        KYMO_TRY(kymo_bytes_append(&w->samples, &group, sizeof group));
        w->group_count++;
    }
    for (uint32_t i = 0; i < count; i++)
        KYMO_TRY(kymo_bytes_append(&w->samples, &samples[i], w->sample_bytes));
    group.count += count;
    memcpy(w->samples.data + w->group_at, &group, sizeof group);
    return KYMO_OK;
}

static kymo_err need_stacks(kymo_recording_writer *w, const kymo_event_samples *e)
{
    KYMO_TRY(kymo_kept_need_thread(w, e->thread));
    for (uint32_t i = 0; i < e->count; i++)
        KYMO_TRY(kymo_kept_need_stack(w, e->thread, e->samples[i].stack));
    kymo_kept_samples(w, e);
    return KYMO_OK;
}

kymo_err kymo_recording_write_samples(kymo_recording_writer *w, const kymo_event_samples *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    KYMO_KEEP(w, need_stacks(w, e));
    const uint32_t step = (uint32_t)(w->pending_bytes / sizeof *e->samples) + 1;
    for (uint32_t done = 0; done < e->count;) {
        uint32_t n = e->count - done < step ? e->count - done : step;
        kymo_err err = append_samples(w, e->thread, e->samples + done, n);
        if (err == KYMO_OK && w->samples.len >= w->pending_bytes)
            err = kymo_writer_close_samples(w);
        if (err != KYMO_OK)
            return kymo_chunk_out_fail(&w->out, err);
        done += n;
    }
    return KYMO_OK;
}

kymo_err kymo_recording_write_wait(kymo_recording_writer *w, const kymo_event_wait *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->wait == 0)
        return KYMO_E_INVALID;
    kymo_writer_begin_event(w, KYMO_CHUNK_WAIT, e);
    return kymo_writer_finish(w, KYMO_CHUNK_WAIT, 0);
}
