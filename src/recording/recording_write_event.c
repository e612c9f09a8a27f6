/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_event.c - one event becomes the payload of a block.
 */
#include "recording/recording_write_event.h"

#include <stdio.h>
#include <string.h>

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

uint32_t kymo_writer_stored_args(uint32_t argc)
{
    return argc < KYMO_FILE_ARGS_MAX ? argc : KYMO_FILE_ARGS_MAX;
}

void kymo_writer_put_args(kymo_recording_writer *w, uint32_t argc, const char *const *argv)
{
    uint32_t stored = kymo_writer_stored_args(argc);
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

kymo_err kymo_writer_finish(kymo_recording_writer *w, enum kymo_block_type type, int compress)
{
    kymo_err err = w->event_error;
    if (err == KYMO_OK && w->kept.is_on)
        err = kymo_kept_before_block(w, type);
    if (err == KYMO_OK)
        err = kymo_block_out_put(&w->out, type, &w->event, compress);
    if (err == KYMO_E_TOO_BIG)
        return KYMO_E_INVALID; /* an event that fits into no block */
    if (err == KYMO_OK && w->kept.is_on)
        err = kymo_kept_after_block(w, type);
    return err == KYMO_OK ? KYMO_OK : kymo_block_out_fail(&w->out, err);
}
