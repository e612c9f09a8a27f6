/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_meta.c - blocks about the recording: where it was made, how good it is, its end.
 */
#include "recording/recording_write_event.h"

kymo_err kymo_recording_write_meta(kymo_recording_writer *w, const kymo_event_meta *e)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    if (w->has_meta)
        return KYMO_E_INVALID;
    struct kymo_file_meta fixed = {
        .fixed_bytes = sizeof fixed,
        .argc = kymo_writer_stored_args(e->argc),
        .start_ns = e->start_ns,
        .start_realtime_ns = e->start_realtime_ns,
        .period_ns = e->period_ns,
        .memory_bytes = e->memory_bytes,
        .logical_cpus = e->logical_cpus,
        .physical_cpus = e->physical_cpus,
        .hz = e->hz,
        .wall_period_ns = e->wall_period_ns,
    };
    w->sample_bytes = e->wall_period_ns ? sizeof(struct kymo_file_sample) : KYMO_FILE_SAMPLE_BYTES;
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->host);
    kymo_writer_put_text(w, e->os);
    kymo_writer_put_text(w, e->kernel);
    kymo_writer_put_text(w, e->arch);
    kymo_writer_put_text(w, e->cpu_name);
    kymo_writer_put_text(w, e->version);
    kymo_writer_put_text(w, e->engine);
    kymo_writer_put_text(w, e->engine_reason);
    kymo_writer_put_text(w, e->options);
    kymo_writer_put_args(w, e->argc, e->argv);
    KYMO_TRY(kymo_writer_finish(w, KYMO_BLOCK_META, 0));
    w->has_meta = 1;
    return KYMO_OK;
}

kymo_err kymo_recording_write_loss(kymo_recording_writer *w, const kymo_event_loss *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_loss fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .kind = e->kind,
        .count = e->count,
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->name);
    return kymo_writer_finish(w, KYMO_BLOCK_LOSS, 0);
}

kymo_err kymo_recording_write_quality(kymo_recording_writer *w, const kymo_event_quality *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_quality fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .samples = e->samples,
        .handler_ns = e->handler_ns,
        .disturbed = e->disturbed,
        .cpu_unsampled_ns = e->cpu_unsampled_ns,
    };
    kymo_writer_begin(w, &fixed);
    return kymo_writer_finish(w, KYMO_BLOCK_QUALITY, 0);
}

kymo_err kymo_recording_write_dropped(kymo_recording_writer *w, const kymo_event_dropped *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_dropped fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .ring_bytes = e->ring_bytes,
        .samples = e->samples,
        .weight_ns = e->weight_ns,
        .unknown = e->unknown,
        .wall_samples = e->wall_samples,
        .wall_ns = e->wall_ns,
        .markers = e->markers,
        .counts = e->counts,
    };
    kymo_writer_begin(w, &fixed);
    return kymo_writer_finish(w, KYMO_BLOCK_DROPPED, 0);
}

kymo_err kymo_recording_write_note(kymo_recording_writer *w, const kymo_event_note *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_note fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .time_ns = e->time_ns,
        .severity = e->severity,
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->text);
    return kymo_writer_finish(w, KYMO_BLOCK_NOTE, 0);
}

kymo_err kymo_recording_write_end(kymo_recording_writer *w, const kymo_event_end *e)
{
    KYMO_TRY(kymo_recording_write_kept(w));
    kymo_err err = kymo_writer_close_all(w);
    if (err != KYMO_OK)
        return kymo_block_out_fail(&w->out, err);
    struct kymo_file_end fixed = {
        .fixed_bytes = sizeof fixed,
        .clean = e->clean,
        .end_ns = e->end_ns,
    };
    kymo_writer_begin(w, &fixed);
    KYMO_TRY(kymo_writer_finish(w, KYMO_BLOCK_END, 0));
    w->ended = 1;
    return kymo_recording_flush(w);
}
