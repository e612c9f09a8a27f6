/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_processes.c - blocks of processes and threads: beginning, name, end.
 */
#include "recording/recording_write_event.h"

kymo_err kymo_recording_write_process(kymo_recording_writer *w, const kymo_event_process *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_process fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .pid = e->pid,
        .parent_pid = e->parent_pid,
        .is_main = e->is_main,
        .argc = kymo_writer_stored_args(e->argc),
        .start_ns = e->start_ns,
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->name);
    kymo_writer_put_text(w, e->exe);
    kymo_writer_put_args(w, e->argc, e->argv);
    return kymo_writer_finish(w, KYMO_BLOCK_PROCESS, 0);
}

kymo_err kymo_recording_write_process_end(kymo_recording_writer *w, const kymo_event_process_end *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_process_end fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .wait_status = e->wait_status,
        .end_ns = e->end_ns,
        .user_ns = e->user_ns,
        .system_ns = e->system_ns,
    };
    kymo_writer_begin(w, &fixed);
    return kymo_writer_finish(w, KYMO_BLOCK_PROCESS_END, 0);
}

kymo_err kymo_recording_write_thread(kymo_recording_writer *w, const kymo_event_thread *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_thread fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .process = e->process,
        .tid = e->tid,
        .start_ns = e->start_ns,
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->name);
    return kymo_writer_finish(w, KYMO_BLOCK_THREAD, 0);
}

kymo_err kymo_recording_write_thread_name(kymo_recording_writer *w, const kymo_event_thread_name *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_thread_name fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .time_ns = e->time_ns,
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->name);
    return kymo_writer_finish(w, KYMO_BLOCK_THREAD_NAME, 0);
}

kymo_err kymo_recording_write_thread_end(kymo_recording_writer *w, const kymo_event_thread_end *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    struct kymo_file_thread_end fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .end_ns = e->end_ns,
        .cpu_ns = e->cpu_ns,
        .cpu_tail_ns = e->cpu_tail_ns,
        .by_tick = e->by_tick,
    };
    kymo_writer_begin(w, &fixed);
    return kymo_writer_finish(w, KYMO_BLOCK_THREAD_END, 0);
}
