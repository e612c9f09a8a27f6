/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_meta.c - blocks about the recording: where it was made, how good it is, its end.
 */
#include "recording/recording_decode_event.h"

kymo_err kymo_decode_meta(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_meta f;
    if (!kymo_read_grown(r, &f, sizeof f, KYMO_FILE_META_BYTES))
        return kymo_decode_malformed(d);
    kymo_event_meta e = {
        .start_ns = f.start_ns,
        .start_realtime_ns = f.start_realtime_ns,
        .period_ns = f.period_ns,
        .memory_bytes = f.memory_bytes,
        .logical_cpus = f.logical_cpus,
        .physical_cpus = f.physical_cpus,
        .hz = f.hz,
        .wall_period_ns = f.wall_period_ns,
        .argc = f.argc,
    };
    (void)kymo_read_texts(r, &e.host, &e.os, &e.kernel, &e.arch, &e.cpu_name, &e.version, &e.engine,
                          &e.engine_reason, &e.options);
    KYMO_TRY(kymo_decoder_read_args(d, r, f.argc));
    e.argv = d->args.data;
    if (r->failed)
        return kymo_decode_malformed(d);
    if (d->has_meta)
        return kymo_decode_drop(&d->damage.duplicates);
    if (!kymo_decode_time_is_sane(f.start_ns) || !kymo_decode_time_is_sane(f.start_realtime_ns) ||
        !kymo_decode_time_is_sane(f.period_ns))
        return kymo_decode_malformed(d);
    d->has_meta = 1;
    return KYMO_DELIVER(d, meta, &e);
}

kymo_err kymo_decode_loss(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_loss f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_loss e = {.kind = f.kind, .count = f.count};
    if (!kymo_read_texts(r, &e.name))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    return KYMO_DELIVER(d, loss, &e);
}

kymo_err kymo_decode_quality(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_quality f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_quality e = {
        .samples = f.samples,
        .handler_ns = f.handler_ns,
        .disturbed = f.disturbed,
        .cpu_unsampled_ns = f.cpu_unsampled_ns,
    };
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    return KYMO_DELIVER(d, quality, &e);
}

kymo_err kymo_decode_dropped(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_dropped f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_dropped e = {
        .thread = KYMO_EVENT_NONE,
        .ring_bytes = f.ring_bytes,
        .samples = f.samples,
        .weight_ns = f.weight_ns,
        .unknown = f.unknown,
        .wall_samples = f.wall_samples,
        .wall_ns = f.wall_ns,
        .markers = f.markers,
        .counts = f.counts,
    };
    if (f.thread != KYMO_EVENT_NONE && !kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (f.ring_bytes == 0 || f.unknown > f.samples)
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, dropped, &e);
}

kymo_err kymo_decode_note(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_note f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_note e = {
        .time_ns = f.time_ns,
        .process = KYMO_EVENT_NONE,
        .severity = f.severity,
    };
    if (!kymo_read_texts(r, &e.text))
        return kymo_decode_malformed(d);
    if (f.process != KYMO_EVENT_NONE && !kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (f.severity > KYMO_NOTE_ERROR || !kymo_decode_time_is_sane(f.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, note, &e);
}

kymo_err kymo_decode_end(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_end f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_end e = {.end_ns = f.end_ns, .clean = f.clean};
    if (!kymo_decode_time_is_sane(f.end_ns))
        return kymo_decode_malformed(d);
    d->ended = 1;
    return KYMO_DELIVER(d, end, &e);
}
