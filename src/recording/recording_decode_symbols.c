/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_symbols.c - chunks of stored symbols.
 *
 * Every index in a chunk is checked here, so receivers of the event need not check. The lines of
 * successive addresses are adjacent: no two addresses share lines, and the output is proportional
 * to the chunk's bytes.
 */
#include "recording/recording_decode_event.h"

#include <string.h>

/* Reads count entries of entry_bytes each; stores the first `known` bytes of each in `to`. */
static void read_entries(kymo_reader *r, uint32_t count, uint32_t entry_bytes, void *to,
                         size_t known)
{
    const unsigned char *bytes = kymo_read_bytes(r, (size_t)count * entry_bytes);
    for (uint32_t i = 0; bytes && i < count; i++)
        memcpy((unsigned char *)to + i * known, bytes + (size_t)i * entry_bytes, known);
}

static int has_text(const kymo_event_symbols *e, uint32_t text)
{
    return text == KYMO_EVENT_NONE || text < e->text_count;
}

/* Whether all indices are valid. */
static int is_sound(const kymo_event_symbols *e)
{
    uint64_t lines = 0;
    for (uint32_t i = 0; i < e->function_count; i++) {
        const kymo_event_symbol_function *f = &e->functions[i];
        if (f->name >= e->text_count || !has_text(e, f->system_name) || !has_text(e, f->file))
            return 0;
    }
    for (uint32_t i = 0; i < e->symbol_count; i++)
        if (e->symbols[i].name >= e->text_count)
            return 0;
    for (uint32_t i = 0; i < e->line_count; i++)
        if (e->lines[i].function >= e->function_count)
            return 0;
    for (uint32_t i = 0; i < e->address_count; i++) {
        const kymo_event_symbol_address *a = &e->addresses[i];
        if ((a->symbol != KYMO_EVENT_NONE && a->symbol >= e->symbol_count) ||
            a->line_count > KYMO_EVENT_SYMBOL_LINES_MAX)
            return 0;
        lines += a->line_count;
    }
    return lines == e->line_count && e->state > 0 && e->state <= KYMO_FILE_SYMBOLS_STATE_MAX;
}

/* Makes room; fails if the counts exceed what the remaining bytes can hold. */
static kymo_err make_room(kymo_decoder *d, kymo_reader *r, const struct kymo_file_symbols *f)
{
    uint64_t bytes = (uint64_t)f->function_count * f->function_bytes +
                     (uint64_t)f->symbol_count * f->symbol_bytes +
                     (uint64_t)f->line_count * f->line_bytes +
                     (uint64_t)f->address_count * f->address_bytes;
    if (bytes > kymo_reader_left(r)) {
        kymo_reader_fail(r);
        return KYMO_OK;
    }
    struct kymo_decoder_symbols *s = &d->symbols;
    s->functions.len = s->symbols.len = s->lines.len = s->addresses.len = 0;
    KYMO_TRY(kymo_vec_reserve(&s->functions, f->function_count));
    KYMO_TRY(kymo_vec_reserve(&s->symbols, f->symbol_count));
    KYMO_TRY(kymo_vec_reserve(&s->lines, f->line_count));
    return kymo_vec_reserve(&s->addresses, f->address_count);
}

kymo_err kymo_decode_symbols(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_symbols f;
    if (!kymo_read_fixed(r, &f, sizeof f) || f.build_id_len > KYMO_FILE_BUILD_ID_MAX ||
        f.text_count > KYMO_EVENT_SYMBOL_TEXTS_MAX || f.address_count > KYMO_EVENT_SYMBOLS_MAX ||
        f.function_bytes < sizeof(struct kymo_file_symbol_function) ||
        f.symbol_bytes < sizeof(struct kymo_file_symbol) ||
        f.line_bytes < sizeof(struct kymo_file_symbol_line) ||
        f.address_bytes < sizeof(struct kymo_file_symbol_address))
        return kymo_decode_malformed(d);
    kymo_event_symbols e = {
        .state = f.state,
        .build_id_len = f.build_id_len,
        .text_count = f.text_count,
        .function_count = f.function_count,
        .symbol_count = f.symbol_count,
        .line_count = f.line_count,
        .address_count = f.address_count,
    };
    e.path = kymo_read_text(r);
    KYMO_TRY(kymo_decoder_read_args(d, r, f.text_count));
    e.texts = d->args.data;
    e.build_id = kymo_read_bytes(r, f.build_id_len);
    KYMO_TRY(make_room(d, r, &f));
    if (r->failed)
        return kymo_decode_malformed(d);
    struct kymo_decoder_symbols *s = &d->symbols;
    read_entries(r, f.function_count, f.function_bytes, s->functions.data,
                 sizeof *s->functions.data);
    read_entries(r, f.symbol_count, f.symbol_bytes, s->symbols.data, sizeof *s->symbols.data);
    read_entries(r, f.line_count, f.line_bytes, s->lines.data, sizeof *s->lines.data);
    read_entries(r, f.address_count, f.address_bytes, s->addresses.data, sizeof *s->addresses.data);
    if (r->failed)
        return kymo_decode_malformed(d);
    e.functions = s->functions.data;
    e.symbols = s->symbols.data;
    e.lines = s->lines.data;
    e.addresses = s->addresses.data;
    if (!is_sound(&e))
        return kymo_decode_drop(&d->damage.values);
    return KYMO_DELIVER(d, symbols, &e);
}
