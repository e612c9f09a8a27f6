/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_processes.c - blocks of processes and threads: beginning, name, end.
 */
#include "recording/recording_decode_event.h"

kymo_err kymo_decode_process(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_process f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_process e = {
        .pid = f.pid,
        .parent_pid = f.parent_pid,
        .is_main = f.is_main,
        .start_ns = f.start_ns,
        .argc = f.argc,
    };
    e.name = kymo_read_text(r);
    e.exe = kymo_read_text(r);
    KYMO_TRY(kymo_decoder_read_args(d, r, f.argc));
    e.argv = d->args.data;
    if (r->failed)
        return kymo_decode_malformed(d);
    if (kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.duplicates);
    if (f.pid <= 0 || f.parent_pid < 0 || !kymo_decode_time_is_sane(f.start_ns))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->processes, 0, f.process, &e.process));
    return KYMO_DELIVER(d, process, &e);
}

kymo_err kymo_decode_process_end(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_process_end f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_process_end e = {
        .wait_status = f.wait_status,
        .end_ns = f.end_ns,
        .user_ns = f.user_ns,
        .system_ns = f.system_ns,
    };
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(f.end_ns) || !kymo_decode_time_is_sane(f.user_ns) ||
        !kymo_decode_time_is_sane(f.system_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, process_end, &e);
}

kymo_err kymo_decode_thread(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_thread f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_thread e = {.tid = f.tid, .start_ns = f.start_ns};
    e.name = kymo_read_text(r);
    if (r->failed)
        return kymo_decode_malformed(d);
    if (kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return kymo_decode_drop(&d->damage.duplicates);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (f.tid <= 0 || !kymo_decode_time_is_sane(f.start_ns))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_vec_reserve(&d->thread_process, 1));
    KYMO_TRY(kymo_id_map_add(&d->threads, 0, f.thread, &e.thread));
    d->thread_process.data[d->thread_process.len++] = e.process;
    return KYMO_DELIVER(d, thread, &e);
}

kymo_err kymo_decode_thread_name(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_thread_name f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_thread_name e = {.time_ns = f.time_ns};
    e.name = kymo_read_text(r);
    if (r->failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(f.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, thread_name, &e);
}

kymo_err kymo_decode_thread_end(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_thread_end f;
    if (!kymo_read_grown(r, &f, sizeof f, KYMO_FILE_THREAD_END_BYTES))
        return kymo_decode_malformed(d);
    kymo_event_thread_end e = {
        .end_ns = f.end_ns,
        .cpu_ns = f.cpu_ns,
        .cpu_tail_ns = f.cpu_tail_ns,
        .by_tick = f.by_tick,
    };
    if (!kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(f.end_ns) || f.cpu_ns > KYMO_FILE_WEIGHT_MAX ||
        f.cpu_tail_ns > KYMO_FILE_WEIGHT_MAX)
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, thread_end, &e);
}
