/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_meta.c - its first block and its last one.
 */
#include "recording/recording_write_event.h"

kymo_err kymo_recording_write_meta(kymo_recording_writer *w, const kymo_event_meta *e)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    if (w->has_meta)
        return KYMO_E_INVALID;
    kymo_event_meta stored = *e;
    stored.argc = kymo_writer_stored_args(e->argc);
    w->sample_bytes = e->wall_period_ns ? sizeof(struct kymo_file_sample) : KYMO_FILE_SAMPLE_BYTES;
    kymo_writer_begin_event(w, KYMO_BLOCK_META, &stored);
    kymo_writer_put_args(w, e->argc, e->argv);
    KYMO_TRY(kymo_writer_finish(w, KYMO_BLOCK_META, 0));
    w->has_meta = 1;
    return KYMO_OK;
}

kymo_err kymo_recording_write_end(kymo_recording_writer *w, const kymo_event_end *e)
{
    KYMO_TRY(kymo_recording_write_kept(w));
    kymo_err err = kymo_writer_close_all(w);
    if (err != KYMO_OK)
        return kymo_block_out_fail(&w->out, err);
    kymo_writer_begin_event(w, KYMO_BLOCK_END, e);
    KYMO_TRY(kymo_writer_finish(w, KYMO_BLOCK_END, 0));
    w->ended = 1;
    return kymo_recording_flush(w);
}
