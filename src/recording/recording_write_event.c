/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_event.c - one event becomes the payload of a chunk.
 */
#include "recording/recording_write_event.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "recording/recording_layout.h"

kymo_err kymo_writer_may_write(const kymo_recording_writer *w)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    return w->has_meta && !w->ended ? KYMO_OK : KYMO_E_INVALID;
}

void kymo_writer_begin(kymo_recording_writer *w, const void *fixed)
{
    uint32_t fixed_bytes;
    memcpy(&fixed_bytes, fixed, sizeof fixed_bytes);
    kymo_bytes_clear(&w->event);
    w->event_error = KYMO_OK;
    kymo_writer_put_bytes(w, fixed, fixed_bytes);
}

void kymo_writer_begin_bytes(kymo_recording_writer *w, enum kymo_chunk_type type, const void *event,
                             size_t event_bytes)
{
    const struct kymo_layout *layout = kymo_layout_of(type);
    const unsigned char *from = event;
    unsigned char fixed[KYMO_LAYOUT_FIXED_MAX] = {0};
    const uint32_t fixed_bytes = (uint32_t)layout->file_bytes;
    assert(event_bytes == layout->event_bytes);
    (void)event_bytes;
    memcpy(fixed, &fixed_bytes, sizeof fixed_bytes);
    for (size_t i = 0; i < layout->count; i++)
        memcpy(fixed + layout->members[i].file_at, from + layout->members[i].event_at,
               layout->members[i].bytes);
    kymo_writer_begin(w, fixed);
    for (size_t i = 0; i < layout->count; i++)
        if (layout->members[i].bytes == 0)
            kymo_writer_put_text(w, *(const char *const *)(from + layout->members[i].event_at));
}

void kymo_writer_put_bytes(kymo_recording_writer *w, const void *data, size_t len)
{
    if (w->event_error == KYMO_OK)
        w->event_error = kymo_bytes_append(&w->event, data, len);
}

void kymo_writer_put_text(kymo_recording_writer *w, const char *text)
{
    if (text == NULL)
        text = "";
    kymo_writer_put_bytes(w, text, strlen(text) + 1);
}

/* The number of arguments that are stored. */
static uint32_t stored_args(uint32_t argc)
{
    return argc < KYMO_FILE_ARGS_MAX ? argc : KYMO_FILE_ARGS_MAX;
}

/* If a command has more arguments than the format allows, the last one says so. */
static void put_args(kymo_recording_writer *w, uint32_t argc, const char *const *argv)
{
    uint32_t stored = stored_args(argc);
    for (uint32_t i = 0; i < stored; i++) {
        if (i + 1 < stored || stored == argc) {
            kymo_writer_put_text(w, argv[i]);
        } else {
            char more[48];
            snprintf(more, sizeof more, "... (%u more)", argc - i);
            kymo_writer_put_text(w, more);
        }
    }
}

kymo_err kymo_writer_finish(kymo_recording_writer *w, enum kymo_chunk_type type, int compress)
{
    kymo_err err = w->event_error;
    int is_late = 0;
    if (err == KYMO_OK && w->kept.is_on)
        err = kymo_kept_before_chunk(w, type, &is_late);
    if (err == KYMO_OK && is_late)
        return KYMO_OK;
    if (err == KYMO_OK)
        err = kymo_chunk_out_put(&w->out, type, &w->event, compress);
    if (err == KYMO_E_TOO_BIG)
        return KYMO_E_INVALID; /* an event that exceeds a chunk */
    if (err == KYMO_OK && w->kept.is_on)
        err = kymo_kept_after_chunk(w, type);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

/* ---- the recording, and its processes ---- */

kymo_err kymo_recording_write_process(kymo_recording_writer *w, const kymo_event_process *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    kymo_event_process stored = *e;
    stored.argc = stored_args(e->argc);
    kymo_writer_begin_event(w, KYMO_CHUNK_PROCESS, &stored);
    put_args(w, e->argc, e->argv);
    return kymo_writer_finish(w, KYMO_CHUNK_PROCESS, 0);
}

kymo_err kymo_recording_write_meta(kymo_recording_writer *w, const kymo_event_meta *e)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    if (w->has_meta)
        return KYMO_E_INVALID;
    kymo_event_meta stored = *e;
    stored.argc = stored_args(e->argc);
    w->sample_bytes = e->wall_period_ns ? sizeof(struct kymo_file_sample) : KYMO_FILE_SAMPLE_BYTES;
    kymo_writer_begin_event(w, KYMO_CHUNK_META, &stored);
    put_args(w, e->argc, e->argv);
    KYMO_TRY(kymo_writer_finish(w, KYMO_CHUNK_META, 0));
    w->has_meta = 1;
    return KYMO_OK;
}

kymo_err kymo_recording_write_end(kymo_recording_writer *w, const kymo_event_end *e)
{
    KYMO_TRY(kymo_recording_write_kept(w));
    kymo_err err = kymo_writer_close_all(w);
    if (err != KYMO_OK)
        return kymo_chunk_out_fail(&w->out, err);
    KYMO_TRY(kymo_recording_flush(w));
    w->end_at = w->out.written;
    kymo_writer_begin_event(w, KYMO_CHUNK_END, e);
    KYMO_TRY(kymo_writer_finish(w, KYMO_CHUNK_END, 0));
    w->kept.end_ns = e->end_ns;
    w->ended = 1;
    return kymo_recording_flush(w);
}

/* ---- events with only a fixed part and texts ---- */

#define PLAIN(name, type, NAME)                                                                \
    kymo_err kymo_recording_write_##name(kymo_recording_writer *w, const kymo_event_##type *e) \
    {                                                                                          \
        KYMO_TRY(kymo_writer_may_write(w));                                                    \
        kymo_writer_begin_event(w, KYMO_CHUNK_##NAME, e);                                      \
        return kymo_writer_finish(w, KYMO_CHUNK_##NAME, 0);                                    \
    }
PLAIN(process_end, process_end, PROCESS_END)
PLAIN(thread, thread, THREAD)
PLAIN(thread_name, thread_name, THREAD_NAME)
PLAIN(thread_end, thread_end, THREAD_END)
PLAIN(module_unload, module_unload, MODULE_UNLOAD)
PLAIN(script, script, SCRIPT)
PLAIN(kernel_symbol, kernel_symbol, KERNEL_SYMBOL)
PLAIN(marker_category, marker_category, MARKER_CATEGORY)
PLAIN(literal, named, LITERAL)
PLAIN(track, named, TRACK)
PLAIN(counter, counter, COUNTER)
PLAIN(site_counts, site_counts, SITE_COUNTS)
PLAIN(heap, heap, HEAP)
PLAIN(ledger, ledger, LEDGER)
PLAIN(memory_info, memory_info, MEMORY_INFO)
PLAIN(loss, loss, LOSS)
PLAIN(quality, quality, QUALITY)
PLAIN(dropped, dropped, DROPPED)
PLAIN(note, note, NOTE)
