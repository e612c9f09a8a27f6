/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored_symbols.c - see stored_symbols.h.
 *
 * Symbols belong to a file (its path and build-id), not to a module of one process: a name found
 * for an address of a library holds in each process that maps it. They are read after everything
 * that refers to them, so they are kept until the end and then put into the frames.
 *
 * Frames at the same place in several processes share their lines. With copies, a small file could
 * make a huge profile: many modules of one file, and one address with a thousand inlined functions.
 */
#include "profile/stored_symbols.h"

#include <string.h>

#include "profile/tables.h"

void kymo_stored_symbols_deinit(kymo_stored_symbols *s)
{
    kymo_vec_free_all(s->files.data, s->functions.data, s->symbols.data, s->lines.data,
                      s->addresses.data);
    kymo_index_deinit(&s->file_index);
    kymo_index_deinit(&s->address_index);
}

/* ---- as events come ---- */

static uint64_t file_hash(uint32_t path, const uint8_t *build_id, uint32_t len)
{
    return kymo_hash_bytes(build_id, len, kymo_hash_secret() ^ path);
}

static int find_file(const kymo_stored_symbols *s, uint32_t path, const uint8_t *build_id,
                     uint32_t len, uint32_t *file)
{
    uint64_t hash = file_hash(path, build_id, len);
    for (size_t probe = 0; kymo_index_find(&s->file_index, hash, &probe, file);) {
        const struct kymo_stored_file *f = &s->files.data[*file];
        if (f->path == path && f->build_id_len == len && memcmp(f->build_id, build_id, len) == 0)
            return 1;
    }
    return 0;
}

static kymo_err add_file(kymo_stored_symbols *s, kymo_profile *profile, const kymo_event_symbols *e,
                         uint32_t *file)
{
    struct kymo_stored_file row = {
        .state = e->state, .build_id_len = e->build_id_len, .is_partial = s->are_partial};
    if (e->build_id_len > KYMO_BUILD_ID_MAX)
        return KYMO_E_INVALID;
    if (e->build_id_len)
        memcpy(row.build_id, e->build_id, e->build_id_len);
    KYMO_TRY(kymo_profile_add_string(profile, e->path, strlen(e->path), &row.path));
    if (find_file(s, row.path, row.build_id, row.build_id_len, file))
        return KYMO_OK;
    *file = (uint32_t)s->files.len;
    KYMO_TRY(kymo_vec_push(&s->files, row));
    return kymo_index_put(&s->file_index, file_hash(row.path, row.build_id, row.build_id_len),
                          *file);
}

static kymo_err add_text(kymo_profile *profile, const kymo_event_symbols *e, uint32_t text,
                         uint32_t *string)
{
    *string = 0;
    if (text == KYMO_EVENT_NONE)
        return KYMO_OK;
    return kymo_profile_add_string(profile, e->texts[text], strlen(e->texts[text]), string);
}

static kymo_err add_function(kymo_stored_symbols *s, kymo_profile *profile,
                             const kymo_event_symbols *e, const kymo_event_symbol_function *f)
{
    struct kymo_stored_function row = {.source = KYMO_NONE, .start_line = f->start_line};
    KYMO_TRY(add_text(profile, e, f->name, &row.name));
    KYMO_TRY(add_text(profile, e, f->system_name, &row.system_name));
    if (f->file != KYMO_EVENT_NONE)
        KYMO_TRY(kymo_profile_add_source(profile, e->texts[f->file], strlen(e->texts[f->file]),
                                         &row.source));
    return kymo_vec_push(&s->functions, row);
}

static uint64_t address_hash(uint32_t file, uint64_t address)
{
    const uint64_t words[] = {address, file};
    return kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
}

static struct kymo_stored_address *find_address(const kymo_stored_symbols *s, uint32_t file,
                                                uint64_t address)
{
    uint64_t hash = address_hash(file, address);
    uint32_t at;
    for (size_t probe = 0; kymo_index_find(&s->address_index, hash, &probe, &at);) {
        struct kymo_stored_address *a = &s->addresses.data[at];
        if (a->file == file && a->address == address)
            return a;
    }
    return NULL;
}

/* If an address comes twice, the first one counts. */
static kymo_err add_address(kymo_stored_symbols *s, const struct kymo_stored_address *row)
{
    if (find_address(s, row->file, row->address))
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&s->addresses, *row));
    return kymo_index_put(&s->address_index, address_hash(row->file, row->address),
                          (uint32_t)s->addresses.len - 1);
}

kymo_err kymo_stored_symbols_add(kymo_stored_symbols *s, kymo_profile *profile,
                                 const kymo_event_symbols *e)
{
    uint32_t file;
    uint32_t first_function = (uint32_t)s->functions.len;
    uint32_t first_symbol = (uint32_t)s->symbols.len;
    uint32_t line = (uint32_t)s->lines.len;
    if (s->functions.len + e->function_count > KYMO_FUNCTIONS_MAX ||
        s->symbols.len + e->symbol_count > KYMO_SYMBOLS_MAX ||
        s->lines.len + e->line_count > KYMO_LINES_MAX ||
        s->addresses.len + e->address_count > KYMO_FRAMES_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(add_file(s, profile, e, &file));
    for (uint32_t i = 0; i < e->function_count; i++)
        KYMO_TRY(add_function(s, profile, e, &e->functions[i]));
    for (uint32_t i = 0; i < e->symbol_count; i++) {
        struct kymo_stored_symbol row = {e->symbols[i].address, e->symbols[i].size_bytes, 0};
        KYMO_TRY(add_text(profile, e, e->symbols[i].name, &row.name));
        KYMO_TRY(kymo_vec_push(&s->symbols, row));
    }
    for (uint32_t i = 0; i < e->line_count; i++)
        KYMO_TRY(kymo_vec_push(
            &s->lines,
            (struct kymo_stored_line){first_function + e->lines[i].function, e->lines[i].line}));
    for (uint32_t i = 0; i < e->address_count; i++) {
        const kymo_event_symbol_address *a = &e->addresses[i];
        struct kymo_stored_address row = {
            .address = a->address,
            .file = file,
            .symbol = a->symbol == KYMO_EVENT_NONE ? KYMO_NONE : first_symbol + a->symbol,
            .first_line = line,
            .line_count = a->line_count,
            .named = a->named != 0,
            .frame = KYMO_NONE,
        };
        KYMO_TRY(add_address(s, &row));
        line += a->line_count;
    }
    return KYMO_OK;
}

/* ---- at the end ---- */

static kymo_err make_lines(const kymo_stored_symbols *s, kymo_profile *profile, uint32_t frame,
                           const struct kymo_stored_address *a)
{
    kymo_line lines[KYMO_FRAME_LINES_MAX];
    uint32_t module = kymo_profile_frame(profile, frame)->module;
    uint32_t symbol = KYMO_NONE;
    if (a->line_count > KYMO_FRAME_LINES_MAX)
        return KYMO_E_INVALID;
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct kymo_stored_line *line = &s->lines.data[a->first_line + i];
        const struct kymo_stored_function *f = &s->functions.data[line->function];
        kymo_function function = {.name = f->name,
                                  .system_name = f->system_name,
                                  .source = f->source,
                                  .start_line = f->start_line,
                                  .module = module};
        lines[i] = (kymo_line){.line = line->line};
        KYMO_TRY(kymo_profile_add_function(profile, &function, &lines[i].function));
    }
    if (a->symbol != KYMO_NONE) {
        const struct kymo_stored_symbol *from = &s->symbols.data[a->symbol];
        kymo_symbol row = {.module = module,
                           .name = from->name,
                           .address = from->address,
                           .size_bytes = from->size_bytes};
        KYMO_TRY(kymo_profile_add_symbol(profile, &row, &symbol));
    }
    return kymo_profile_frame_set_lines(profile, frame, lines, a->line_count, symbol,
                                        (int)a->named);
}

static kymo_err name_frame(const kymo_stored_symbols *s, kymo_profile *profile, uint32_t frame,
                           struct kymo_stored_address *a)
{
    if (a->frame != KYMO_NONE)
        return kymo_profile_frame_share_lines(profile, frame, a->frame);
    KYMO_TRY(make_lines(s, profile, frame, a));
    a->frame = frame;
    return KYMO_OK;
}

/* By module: its stored file, KYMO_NONE if there is none. */
static void find_files(const kymo_stored_symbols *s, const kymo_profile *profile, uint32_t *file_of)
{
    for (uint32_t i = 0; i < profile->modules.len; i++) {
        const kymo_module *m = &profile->modules.data[i];
        const kymo_module_ids *ids = &profile->module_ids.data[i];
        if (ids->file != i)
            file_of[i] = file_of[ids->file];
        else if (!find_file(s, ids->path, m->build_id, m->build_id_len, &file_of[i]))
            file_of[i] = KYMO_NONE;
    }
}

static kymo_err name_frames(kymo_stored_symbols *s, kymo_profile *profile, const uint32_t *file_of)
{
    for (uint32_t i = 0; i < profile->frames.len; i++) {
        const kymo_frame *f = &profile->frames.data[i];
        if (!kymo_frame_has_file(f) || file_of[f->module] == KYMO_NONE)
            continue;
        struct kymo_stored_address *a = find_address(s, file_of[f->module], f->address);
        if (a)
            KYMO_TRY(name_frame(s, profile, i, a));
        else
            s->files.data[file_of[f->module]].lacks_some = 1;
    }
    return KYMO_OK;
}

/* What is known of a file's symbols; nothing where some of its frames are still to be looked up. */
static kymo_err set_states(const kymo_stored_symbols *s, kymo_profile *profile,
                           const uint32_t *file_of)
{
    for (uint32_t i = 0; i < profile->modules.len; i++) {
        if (profile->module_ids.data[i].file != i || file_of[i] == KYMO_NONE)
            continue;
        const struct kymo_stored_file *f = &s->files.data[file_of[i]];
        if (!(f->is_partial && f->lacks_some && f->state >= KYMO_SYMBOLS_SOME))
            KYMO_TRY(kymo_profile_set_module_symbols(profile, i, f->state));
    }
    return KYMO_OK;
}

kymo_err kymo_stored_symbols_apply(kymo_stored_symbols *s, kymo_profile *profile)
{
    KYMO_VEC(uint32_t) file_of = {0};
    if (s->files.len == 0)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_reserve(&file_of, profile->modules.len + 1));
    find_files(s, profile, file_of.data);
    kymo_err err = name_frames(s, profile, file_of.data);
    if (err == KYMO_OK)
        err = set_states(s, profile, file_of.data);
    kymo_vec_deinit(&file_of);
    return err;
}
