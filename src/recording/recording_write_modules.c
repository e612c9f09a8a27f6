/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_modules.c - chunks of code mappings: modules, their images, generated code.
 */
#include "recording/recording_write_event.h"

#include <assert.h>

#define IMAGE_COMPRESS_BYTES 4096u

kymo_err kymo_recording_write_module(kymo_recording_writer *w, const kymo_event_module *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->build_id_len > KYMO_FILE_BUILD_ID_MAX || e->start >= e->end)
        return KYMO_E_INVALID;
    kymo_writer_begin_event(w, KYMO_CHUNK_MODULE, e);
    kymo_writer_put_bytes(w, e->build_id, e->build_id_len);
    return kymo_writer_finish(w, KYMO_CHUNK_MODULE, 0);
}

kymo_err kymo_recording_write_module_image(kymo_recording_writer *w,
                                           const kymo_event_module_image *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->len > KYMO_EVENT_IMAGE_MAX)
        return KYMO_E_INVALID;
    kymo_writer_begin_event(w, KYMO_CHUNK_MODULE_IMAGE, e);
    kymo_writer_put_bytes(w, e->bytes, e->len);
    return kymo_writer_finish(w, KYMO_CHUNK_MODULE_IMAGE, e->len >= IMAGE_COMPRESS_BYTES);
}

kymo_err kymo_recording_write_code(kymo_recording_writer *w, const kymo_event_code *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->size_bytes == 0 || e->start > UINT64_MAX - e->size_bytes ||
        e->line_count > KYMO_EVENT_CODE_LINES_MAX || e->file_count > KYMO_EVENT_CODE_FILES_MAX)
        return KYMO_E_INVALID;
    struct kymo_file_code fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .start = e->start,
        .size_bytes = e->size_bytes,
        .from_ns = e->from_ns,
        .to_ns = e->to_ns,
        .file_count = e->file_count,
        .line_count = e->line_count,
        .line_bytes = sizeof(struct kymo_file_code_line),
    };
    static_assert(sizeof *e->lines == sizeof(struct kymo_file_code_line), "layout");
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->name);
    for (uint32_t i = 0; i < e->file_count; i++)
        kymo_writer_put_text(w, e->files[i]);
    kymo_writer_put_bytes(w, e->lines, e->line_count * sizeof *e->lines);
    return kymo_writer_finish(w, KYMO_CHUNK_CODE, 0);
}
