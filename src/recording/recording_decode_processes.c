/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_processes.c - chunks of processes and threads: beginning, name, end.
 */
#include "recording/recording_decode_event.h"

kymo_err kymo_decode_process(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_process e;
    if (!kymo_read_event(r, KYMO_CHUNK_PROCESS, &e))
        return kymo_decode_malformed(d);
    uint32_t id = e.process;
    KYMO_TRY(kymo_decoder_read_args(d, r, e.argc));
    e.argv = d->args.data;
    if (r->failed)
        return kymo_decode_malformed(d);
    if (kymo_id_map_find(&d->processes, 0, id, &e.process))
        return kymo_decode_drop(&d->damage.duplicates);
    if (e.pid <= 0 || e.parent_pid < 0 || !kymo_decode_time_is_sane(e.start_ns))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->processes, 0, id, &e.process));
    return KYMO_DELIVER(d, process, &e);
}

kymo_err kymo_decode_process_end(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_process_end e;
    if (!kymo_read_event(r, KYMO_CHUNK_PROCESS_END, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(e.end_ns) || !kymo_decode_time_is_sane(e.user_ns) ||
        !kymo_decode_time_is_sane(e.system_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, process_end, &e);
}

kymo_err kymo_decode_thread(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_thread e;
    if (!kymo_read_event(r, KYMO_CHUNK_THREAD, &e))
        return kymo_decode_malformed(d);
    uint32_t id = e.thread;
    if (kymo_id_map_find(&d->threads, 0, id, &e.thread))
        return kymo_decode_drop(&d->damage.duplicates);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (e.tid <= 0 || !kymo_decode_time_is_sane(e.start_ns))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_vec_reserve(&d->thread_process, 1));
    KYMO_TRY(kymo_id_map_add(&d->threads, 0, id, &e.thread));
    d->thread_process.data[d->thread_process.len++] = e.process;
    return KYMO_DELIVER(d, thread, &e);
}

kymo_err kymo_decode_thread_name(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_thread_name e;
    if (!kymo_read_event(r, KYMO_CHUNK_THREAD_NAME, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, e.thread, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(e.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, thread_name, &e);
}

kymo_err kymo_decode_thread_end(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_thread_end e;
    if (!kymo_read_event(r, KYMO_CHUNK_THREAD_END, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, e.thread, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(e.end_ns) || e.cpu_ns > KYMO_FILE_WEIGHT_MAX ||
        e.cpu_tail_ns > KYMO_FILE_WEIGHT_MAX)
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, thread_end, &e);
}
