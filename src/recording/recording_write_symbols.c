/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_symbols.c - chunks of stored symbols.
 */
#include "recording/recording_write_event.h"

#include <assert.h>

#define SYMBOLS_COMPRESS_BYTES 4096u

static_assert(sizeof(kymo_event_symbol_function) == sizeof(struct kymo_file_symbol_function), "");
static_assert(sizeof(kymo_event_symbol) == sizeof(struct kymo_file_symbol), "layout");
static_assert(sizeof(kymo_event_symbol_line) == sizeof(struct kymo_file_symbol_line), "layout");
static_assert(sizeof(kymo_event_symbol_address) == sizeof(struct kymo_file_symbol_address), "");

kymo_err kymo_recording_write_symbols(kymo_recording_writer *w, const kymo_event_symbols *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->build_id_len > KYMO_FILE_BUILD_ID_MAX || e->address_count > KYMO_EVENT_SYMBOLS_MAX ||
        e->text_count > KYMO_EVENT_SYMBOL_TEXTS_MAX)
        return KYMO_E_INVALID;
    struct kymo_file_symbols fixed = {
        .fixed_bytes = sizeof fixed,
        .state = e->state,
        .build_id_len = e->build_id_len,
        .text_count = e->text_count,
        .function_count = e->function_count,
        .symbol_count = e->symbol_count,
        .line_count = e->line_count,
        .address_count = e->address_count,
        .function_bytes = sizeof *e->functions,
        .symbol_bytes = sizeof *e->symbols,
        .line_bytes = sizeof *e->lines,
        .address_bytes = sizeof *e->addresses,
    };
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_text(w, e->path);
    for (uint32_t i = 0; i < e->text_count; i++)
        kymo_writer_put_text(w, e->texts[i]);
    kymo_writer_put_bytes(w, e->build_id, e->build_id_len);
    kymo_writer_put_bytes(w, e->functions, e->function_count * sizeof *e->functions);
    kymo_writer_put_bytes(w, e->symbols, e->symbol_count * sizeof *e->symbols);
    kymo_writer_put_bytes(w, e->lines, e->line_count * sizeof *e->lines);
    kymo_writer_put_bytes(w, e->addresses, e->address_count * sizeof *e->addresses);
    return kymo_writer_finish(w, KYMO_CHUNK_SYMBOLS, w->event.len >= SYMBOLS_COMPRESS_BYTES);
}
