/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_meta.c - chunks about the whole recording: the machine, the quality, the end.
 */
#include "recording/recording_decode_event.h"

kymo_err kymo_decode_meta(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_meta e;
    if (!kymo_read_event(r, KYMO_CHUNK_META, &e))
        return kymo_decode_malformed(d);
    KYMO_TRY(kymo_decoder_read_args(d, r, e.argc));
    e.argv = d->args.data;
    if (r->failed)
        return kymo_decode_malformed(d);
    if (d->has_meta)
        return kymo_decode_drop(&d->damage.duplicates);
    if (!kymo_decode_time_is_sane(e.start_ns) || !kymo_decode_time_is_sane(e.start_realtime_ns) ||
        !kymo_decode_time_is_sane(e.period_ns))
        return kymo_decode_malformed(d);
    d->has_meta = 1;
    return KYMO_DELIVER(d, meta, &e);
}

kymo_err kymo_decode_loss(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_loss e;
    if (!kymo_read_event(r, KYMO_CHUNK_LOSS, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    return KYMO_DELIVER(d, loss, &e);
}

kymo_err kymo_decode_quality(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_quality e;
    if (!kymo_read_event(r, KYMO_CHUNK_QUALITY, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    return KYMO_DELIVER(d, quality, &e);
}

kymo_err kymo_decode_dropped(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_dropped e;
    if (!kymo_read_event(r, KYMO_CHUNK_DROPPED, &e))
        return kymo_decode_malformed(d);
    if (e.thread != KYMO_EVENT_NONE && !kymo_id_map_find(&d->threads, 0, e.thread, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (e.ring_bytes == 0 || e.unknown > e.samples)
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, dropped, &e);
}

kymo_err kymo_decode_note(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_note e;
    if (!kymo_read_event(r, KYMO_CHUNK_NOTE, &e))
        return kymo_decode_malformed(d);
    if (e.process != KYMO_EVENT_NONE && !kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (e.severity > KYMO_NOTE_ERROR || !kymo_decode_time_is_sane(e.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, note, &e);
}

kymo_err kymo_decode_end(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_end e;
    if (!kymo_read_event(r, KYMO_CHUNK_END, &e) || !kymo_decode_time_is_sane(e.end_ns))
        return kymo_decode_malformed(d);
    d->ended = 1;
    return KYMO_DELIVER(d, end, &e);
}
