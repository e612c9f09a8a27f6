/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_modules.c - chunks of code mappings: modules, their images, generated code.
 */
#include "recording/recording_decode_event.h"

#include <string.h>

kymo_err kymo_decode_module(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_module e;
    if (!kymo_read_event(r, KYMO_CHUNK_MODULE, &e) || e.build_id_len > KYMO_FILE_BUILD_ID_MAX)
        return kymo_decode_malformed(d);
    uint32_t id = e.module;
    e.build_id = kymo_read_bytes(r, e.build_id_len);
    if (r->failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (kymo_id_map_find(&d->modules, e.process, id, &e.module))
        return kymo_decode_drop(&d->damage.duplicates);
    if (e.start >= e.end || id == KYMO_EVENT_NONE || !kymo_decode_time_is_sane(e.load_ns))
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->modules, e.process, id, &e.module));
    return KYMO_DELIVER(d, module, &e);
}

kymo_err kymo_decode_module_unload(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_module_unload e;
    if (!kymo_read_event(r, KYMO_CHUNK_MODULE_UNLOAD, &e))
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process) ||
        !kymo_id_map_find(&d->modules, e.process, e.module, &e.module))
        return kymo_decode_drop(&d->damage.references);
    if (!kymo_decode_time_is_sane(e.time_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, module_unload, &e);
}

kymo_err kymo_decode_module_image(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_module_image e;
    if (!kymo_read_event(r, KYMO_CHUNK_MODULE_IMAGE, &e))
        return kymo_decode_malformed(d);
    e.bytes = kymo_read_bytes(r, e.len);
    if (r->failed || e.len > KYMO_EVENT_IMAGE_MAX)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process) ||
        !kymo_id_map_find(&d->modules, e.process, e.module, &e.module))
        return kymo_decode_drop(&d->damage.references);
    return KYMO_DELIVER(d, module_image, &e);
}

/* Reads files and lines of a piece of code into e. Drops lines that cannot be looked up. */
static kymo_err read_code_lines(kymo_decoder *d, kymo_reader *r, const struct kymo_file_code *f,
                                kymo_event_code *e)
{
    KYMO_TRY(kymo_decoder_read_args(d, r, f->file_count));
    const unsigned char *bytes = kymo_read_bytes(r, (size_t)f->line_count * f->line_bytes);
    if (bytes == NULL)
        return KYMO_OK;
    d->code_lines.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->code_lines, f->line_count));
    for (uint32_t i = 0; i < f->line_count; i++, bytes += f->line_bytes) {
        struct kymo_file_code_line line;
        memcpy(&line, bytes, sizeof line);
        if (line.file < f->file_count)
            d->code_lines.data[d->code_lines.len++] =
                (kymo_event_code_line){line.offset, line.line, line.column, line.file};
    }
    e->file_count = f->file_count;
    e->files = d->args.data;
    e->line_count = (uint32_t)d->code_lines.len;
    e->lines = d->code_lines.data;
    return KYMO_OK;
}

kymo_err kymo_decode_code(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_code f;
    if (!kymo_read_fixed(r, &f, sizeof f))
        return kymo_decode_malformed(d);
    kymo_event_code e = {
        .start = f.start,
        .size_bytes = f.size_bytes,
        .from_ns = f.from_ns,
        .to_ns = f.to_ns,
    };
    if (f.line_count > KYMO_EVENT_CODE_LINES_MAX || f.file_count > KYMO_EVENT_CODE_FILES_MAX ||
        f.line_bytes < sizeof(struct kymo_file_code_line))
        return kymo_decode_malformed(d);
    e.name = kymo_read_text(r);
    KYMO_TRY(read_code_lines(d, r, &f, &e));
    if (r->failed)
        return kymo_decode_malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (f.size_bytes == 0 || f.start > UINT64_MAX - f.size_bytes ||
        !kymo_decode_time_is_sane(f.from_ns) || !kymo_decode_time_is_sane(f.to_ns))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, code, &e);
}
