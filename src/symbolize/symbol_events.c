/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_events.c - the names in a profile as events of a recording.
 *
 *   frames, by file and address ──► batch: texts, functions, symbols, lines ──► event
 *
 * A batch belongs to one file and has its own numbers, so a reader can decode each chunk alone. It
 * is sent when it is large, and before the next file.
 */
#include "symbolize/apply.h"
#include "symbolize/finish.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/stored_symbols.h"

/* One address adds at most 1024 lines of three texts each. */
#define BATCH_ADDRESSES 4096u
#define BATCH_TEXTS 32768u

/* What is numbered in a batch: a string, source, function or symbol of the profile. */
enum kind { STRING, SOURCE, FUNCTION, SYMBOL };

struct known {
    uint64_t key; /* kind and id */
    uint32_t number;
};

struct batch {
    const kymo_profile *profile;
    const kymo_event_handler *to;
    void *context;
    KYMO_VEC(const char *) texts;
    KYMO_VEC(kymo_event_symbol_function) functions;
    KYMO_VEC(kymo_event_symbol) symbols;
    KYMO_VEC(kymo_event_symbol_line) lines;
    KYMO_VEC(kymo_event_symbol_address) addresses;
    KYMO_VEC(struct known) known;
    kymo_index index;
};

/* Whether it has a number already; else gives it this one. */
static kymo_err number(struct batch *b, enum kind kind, uint32_t id, size_t next, uint32_t *out,
                       int *is_new)
{
    uint64_t key = (uint64_t)kind << 32 | id;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    uint32_t at;
    *is_new = 0;
    for (size_t probe = 0; kymo_index_find(&b->index, hash, &probe, &at);) {
        if (b->known.data[at].key == key) {
            *out = b->known.data[at].number;
            return KYMO_OK;
        }
    }
    *is_new = 1;
    *out = (uint32_t)next;
    KYMO_TRY(kymo_vec_push(&b->known, (struct known){key, *out}));
    return kymo_index_put(&b->index, hash, (uint32_t)b->known.len - 1);
}

static kymo_err add_text(struct batch *b, enum kind kind, uint32_t id, uint32_t *text)
{
    int is_new;
    KYMO_TRY(number(b, kind, id, b->texts.len, text, &is_new));
    if (!is_new)
        return KYMO_OK;
    return kymo_vec_push(&b->texts, kind == SOURCE ? kymo_profile_source(b->profile, id)
                                                   : kymo_profile_string(b->profile, id));
}

static kymo_err add_function(struct batch *b, uint32_t id, uint32_t *function)
{
    int is_new;
    KYMO_TRY(number(b, FUNCTION, id, b->functions.len, function, &is_new));
    if (!is_new)
        return KYMO_OK;
    const kymo_function *f = kymo_profile_function(b->profile, id);
    kymo_event_symbol_function row = {
        .system_name = KYMO_EVENT_NONE, .file = KYMO_EVENT_NONE, .start_line = f->start_line};
    KYMO_TRY(add_text(b, STRING, f->name, &row.name));
    if (f->system_name != 0)
        KYMO_TRY(add_text(b, STRING, f->system_name, &row.system_name));
    if (f->source != KYMO_NONE)
        KYMO_TRY(add_text(b, SOURCE, f->source, &row.file));
    return kymo_vec_push(&b->functions, row);
}

static kymo_err add_symbol(struct batch *b, uint32_t id, uint32_t *symbol)
{
    int is_new;
    KYMO_TRY(number(b, SYMBOL, id, b->symbols.len, symbol, &is_new));
    if (!is_new)
        return KYMO_OK;
    const kymo_symbol *s = kymo_profile_symbol(b->profile, id);
    kymo_event_symbol row = {.address = s->address, .size_bytes = s->size_bytes};
    KYMO_TRY(add_text(b, STRING, s->name, &row.name));
    return kymo_vec_push(&b->symbols, row);
}

static kymo_err add_address(struct batch *b, const kymo_placed_frame *place)
{
    uint32_t n;
    const kymo_frame *f = kymo_profile_frame(b->profile, place->frame);
    const kymo_line *lines = kymo_profile_frame_lines(b->profile, place->frame, &n);
    kymo_event_symbol_address row = {
        .address = place->address, .symbol = KYMO_EVENT_NONE, .line_count = n, .named = f->named};
    for (uint32_t i = 0; i < n; i++) {
        kymo_event_symbol_line line = {.line = lines[i].line};
        KYMO_TRY(add_function(b, lines[i].function, &line.function));
        KYMO_TRY(kymo_vec_push(&b->lines, line));
    }
    if (f->symbol != KYMO_NONE)
        KYMO_TRY(add_symbol(b, f->symbol, &row.symbol));
    return kymo_vec_push(&b->addresses, row);
}

static kymo_err send(struct batch *b, uint32_t file)
{
    const kymo_module *m = kymo_profile_module(b->profile, file);
    kymo_event_symbols e = {
        .state = m->symbols,
        .build_id_len = m->build_id_len,
        .text_count = (uint32_t)b->texts.len,
        .function_count = (uint32_t)b->functions.len,
        .symbol_count = (uint32_t)b->symbols.len,
        .line_count = (uint32_t)b->lines.len,
        .address_count = (uint32_t)b->addresses.len,
        .path = m->path,
        .build_id = m->build_id,
        .texts = b->texts.data,
        .functions = b->functions.data,
        .symbols = b->symbols.data,
        .lines = b->lines.data,
        .addresses = b->addresses.data,
    };
    kymo_err err = KYMO_OK;
    if (e.state != KYMO_SYMBOLS_UNKNOWN)
        err = b->to->symbols(b->context, &e);
    b->texts.len = b->functions.len = b->symbols.len = b->lines.len = b->addresses.len = 0;
    b->known.len = 0;
    kymo_index_deinit(&b->index);
    return err;
}

static int is_left_out(const kymo_symbol_filter *filter, const kymo_profile *profile,
                       const kymo_placed_frame *place)
{
    return filter && filter->leaves_out(filter->data, kymo_profile_module(profile, place->file),
                                        place->address);
}

kymo_err kymo_symbol_events_send(const kymo_profile *profile, const kymo_symbol_filter *filter,
                                 const kymo_event_handler *to, void *context)
{
    struct batch b = {.profile = profile, .to = to, .context = context};
    kymo_placed_frame *places;
    size_t n;
    KYMO_TRY(kymo_placed_frames_collect(profile, &places, &n));
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < n && err == KYMO_OK; i++) {
        const kymo_placed_frame *p = &places[i];
        int is_new = i == 0 || p[-1].file != p->file || p[-1].address != p->address;
        if (is_new && !is_left_out(filter, profile, p))
            err = add_address(&b, p);
        int is_last = (i + 1 == n || p[1].file != p->file) && (!filter || b.addresses.len > 0);
        int is_full = b.addresses.len >= BATCH_ADDRESSES || b.texts.len >= BATCH_TEXTS;
        if (err == KYMO_OK && (is_last || (is_full && is_new)))
            err = send(&b, p->file);
    }
    free(places);
    kymo_vec_deinit(&b.texts);
    kymo_vec_deinit(&b.functions);
    kymo_vec_deinit(&b.symbols);
    kymo_vec_deinit(&b.lines);
    kymo_vec_deinit(&b.addresses);
    kymo_vec_deinit(&b.known);
    kymo_index_deinit(&b.index);
    return err;
}
