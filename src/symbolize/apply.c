/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.c - symbolizes a profile's frames, file by file.
 *
 * Frames are sorted by file (a file may be several modules, in several processes), so each file is
 * opened once, asked once for all its addresses, and closed before the next one. So the memory
 * needed is that of the largest file, not of all.
 *
 * Names stored in the recording are kept: they are those of the code that ran, whatever has
 * happened to the file. If some frames of a file have no stored name, the file is searched again:
 * its debug package may have been installed since. Without a build-id it cannot be verified.
 */
#include "symbolize/apply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "profile/stored_symbols.h"

typedef struct job {
    kymo_symbolizer *symbolizer;
    kymo_profile *profile;
    const kymo_apply_options *options;
    kymo_apply_result *result;
    KYMO_VEC(uint64_t) addresses; /* of one file */
    KYMO_VEC(kymo_symbol_result) symbols;
    KYMO_VEC(kymo_line) lines; /* of one frame */
    kymo_symbol_frames frames;
} job;

static int by_file(const void *a, const void *b)
{
    const kymo_placed_frame *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

kymo_err kymo_placed_frames_collect(const kymo_profile *profile, kymo_placed_frame **out, size_t *n)
{
    uint32_t count = kymo_profile_count(profile, KYMO_TABLE_FRAMES);
    kymo_placed_frame *frames = calloc((size_t)count + 1, sizeof *frames);
    if (!frames)
        return KYMO_E_NOMEM;
    *n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const kymo_frame *f = kymo_profile_frame(profile, i);
        if (kymo_frame_has_file(f))
            frames[(*n)++] =
                (kymo_placed_frame){f->address, kymo_profile_module_file(profile, f->module), i};
    }
    qsort(frames, *n, sizeof *frames, by_file);
    *out = frames;
    return KYMO_OK;
}

/* Whether some generated code has names; if so, code without a name lacks one. */
static bool has_named_code(const kymo_profile *profile)
{
    uint32_t n = kymo_profile_count(profile, KYMO_TABLE_MODULES);
    for (uint32_t i = 0; i < n; i++)
        if (kymo_profile_module(profile, i)->category == KYMO_CATEGORY_JIT)
            return true;
    return false;
}

/* Counts the frames of generated code, whose names are in the recording. */
static void count_generated(job *j)
{
    uint32_t n = kymo_profile_count(j->profile, KYMO_TABLE_FRAMES);
    bool counts_generated = has_named_code(j->profile);
    for (uint32_t i = 0; i < n; i++) {
        const kymo_frame *f = kymo_profile_frame(j->profile, i);
        if (f->address == KYMO_NO_ADDRESS)
            continue;
        if (f->category == KYMO_CATEGORY_JIT) {
            j->result->frames++;
            j->result->frames_named++;
            j->result->complete_named++;
        }
        if (f->category == KYMO_CATEGORY_JIT ||
            (f->category == KYMO_CATEGORY_GENERATED && counts_generated))
            j->result->in_complete++;
    }
}

static kymo_err add_string(kymo_profile *profile, const char *text, uint32_t *id)
{
    return kymo_profile_add_string(profile, text, strlen(text), id);
}

static kymo_err add_line(job *j, const kymo_symbol_frame *from, uint32_t module)
{
    kymo_profile *p = j->profile;
    kymo_function function = {
        .source = KYMO_NONE, .start_line = from->start_line, .module = module};
    KYMO_TRY(add_string(p, from->function, &function.name));
    if (from->system_name != from->function)
        KYMO_TRY(add_string(p, from->system_name, &function.system_name));
    if (from->file)
        KYMO_TRY(kymo_profile_add_source(p, from->file, strlen(from->file), &function.source));
    kymo_line line = {.line = from->line};
    KYMO_TRY(kymo_profile_add_function(p, &function, &line.function));
    return kymo_vec_push(&j->lines, line);
}

/* A function without a name is named after its start, so that all its addresses are one
 * function: `gzip+0x4330`. The frame still counts as not named. */
static kymo_err add_start(job *j, uint32_t module, const kymo_symbol_result *from, uint32_t *symbol)
{
    kymo_function function = {.source = KYMO_NONE, .module = module};
    kymo_symbol s = {
        .module = module, .address = from->function_address, .size_bytes = from->function_size};
    kymo_line line = {0};
    kymo_str name = {0};
    kymo_str_printf(&name, "%s+0x%" PRIx64, kymo_profile_module(j->profile, module)->name,
                    from->function_address);
    kymo_err err = name.failed ? KYMO_E_NOMEM : add_string(j->profile, name.data, &function.name);
    kymo_str_deinit(&name);
    KYMO_TRY(err);
    s.name = function.name;
    KYMO_TRY(kymo_profile_add_symbol(j->profile, &s, symbol));
    KYMO_TRY(kymo_profile_add_function(j->profile, &function, &line.function));
    return kymo_vec_push(&j->lines, line);
}

/* Puts one answer into one frame. */
static kymo_err set_frame(job *j, uint32_t frame, const kymo_symbol_result *from)
{
    uint32_t module = kymo_profile_frame(j->profile, frame)->module;
    j->lines.len = 0;
    for (uint32_t i = 0; i < from->n_frames && j->lines.len < KYMO_FRAME_LINES_MAX; i++) {
        /* a place with a line but without a function is shown as module+offset */
        const kymo_symbol_frame *f = &j->frames.data[from->first_frame + i];
        if (f->function)
            KYMO_TRY(add_line(j, f, module));
    }
    uint32_t symbol = KYMO_NONE;
    if (from->symbol_name) {
        kymo_symbol s = {
            .module = module, .address = from->symbol_address, .size_bytes = from->symbol_size};
        KYMO_TRY(add_string(j->profile, from->symbol_function, &s.name));
        KYMO_TRY(kymo_profile_add_symbol(j->profile, &s, &symbol));
    }
    if (j->lines.len == 0 && from->function_size > 0)
        KYMO_TRY(add_start(j, module, from, &symbol));
    return kymo_profile_frame_set_lines(j->profile, frame, j->lines.data, (uint32_t)j->lines.len,
                                        symbol, from->named);
}

/* Opens a file. *out is NULL if no file can be used. */
static kymo_err open_file(job *j, uint32_t file, kymo_module_symbols **out,
                          kymo_symbol_status *status)
{
    const kymo_module *m = kymo_profile_module(j->profile, file);
    kymo_symbol_module wanted = {.paths = &m->path,
                                 .n_paths = 1,
                                 .build_id = m->build_id,
                                 .build_id_len = m->build_id_len,
                                 .allow_unverified = true,
                                 .without_build_id = true};
    if (j->options->locate)
        j->options->locate(j->options->user, j->profile, file, &wanted);
    *out = NULL;
    kymo_err err = kymo_symbolizer_open_module(j->symbolizer, &wanted, out, status);
    if (j->options->opened && m->symbols != KYMO_SYMBOLS_SOME)
        j->options->opened(j->options->user, j->profile, file, status);
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

/* Whether a names file named it already; not where all of them are looked up again. */
static int is_named_before(const job *j, const kymo_placed_frame *ref, uint32_t stored)
{
    return stored == KYMO_SYMBOLS_UNKNOWN && kymo_profile_frame(j->profile, ref->frame)->named;
}

/* stored: what was known of the file's symbols before. */
static kymo_err symbolize_range(job *j, kymo_module_symbols *module, const kymo_placed_frame *refs,
                                size_t n, bool complete, uint32_t stored)
{
    size_t asked = 0;
    uint64_t named = 0;
    j->addresses.len = j->symbols.len = j->frames.len = 0;
    KYMO_TRY(kymo_vec_reserve(&j->symbols, n));
    for (size_t i = 0; i < n; i++)
        if (!is_named_before(j, &refs[i], stored))
            KYMO_TRY(kymo_vec_push(&j->addresses, refs[i].address));
    KYMO_TRY(kymo_module_symbolize(module, j->addresses.data, j->addresses.len, j->symbols.data,
                                   &j->frames));
    for (size_t i = 0; i < n; i++) {
        if (!is_named_before(j, &refs[i], stored))
            KYMO_TRY(set_frame(j, refs[i].frame, &j->symbols.data[asked++]));
        named += kymo_profile_frame(j->profile, refs[i].frame)->named;
    }
    j->result->frames_named += named;
    j->result->complete_named += complete ? named : 0;
    return KYMO_OK;
}

static uint32_t state_of(const kymo_symbol_status *status)
{
    if (status->err != KYMO_OK)
        return status->err == KYMO_E_MISMATCH ? KYMO_SYMBOLS_OTHER : KYMO_SYMBOLS_NONE;
    return status->complete ? KYMO_SYMBOLS_ALL : KYMO_SYMBOLS_SOME;
}

/* The names of these frames were stored in the recording. */
static void count_stored(job *j, const kymo_placed_frame *refs, size_t n)
{
    const kymo_module *m = kymo_profile_module(j->profile, refs[0].file);
    kymo_apply_result *r = j->result;
    uint64_t named = 0;
    for (size_t i = 0; i < n; i++)
        named += kymo_profile_frame(j->profile, refs[i].frame)->named;
    r->frames_named += named;
    r->unverified += m->build_id_len == 0 && m->symbols >= KYMO_SYMBOLS_SOME;
    r->without_symbols += m->symbols < KYMO_SYMBOLS_SOME;
    r->mismatched += m->symbols == KYMO_SYMBOLS_OTHER;
    if (m->symbols == KYMO_SYMBOLS_ALL) {
        r->in_complete += n;
        r->complete_named += named;
    }
}

static kymo_err symbolize_file(job *j, const kymo_placed_frame *refs, size_t n)
{
    kymo_apply_result *r = j->result;
    kymo_symbol_status status;
    kymo_module_symbols *module;
    const kymo_module *m = kymo_profile_module(j->profile, refs[0].file);
    uint32_t stored = m->symbols;
    r->modules++;
    r->frames += n;
    if (stored == KYMO_SYMBOLS_ALL || (stored != KYMO_SYMBOLS_UNKNOWN && m->build_id_len == 0)) {
        count_stored(j, refs, n);
        return KYMO_OK;
    }
    KYMO_TRY(open_file(j, refs[0].file, &module, &status));
    if (stored == KYMO_SYMBOLS_SOME && !(module && status.complete)) {
        kymo_module_close(module);
        count_stored(j, refs, n);
        return KYMO_OK;
    }
    KYMO_TRY(kymo_profile_set_module_symbols(j->profile, refs[0].file, state_of(&status)));
    if (!module) {
        r->without_symbols++;
        r->mismatched += status.err == KYMO_E_MISMATCH;
        return KYMO_OK;
    }
    r->unverified += status.unverified;
    r->without_symbols += status.n_symbols == 0 && !status.dwarf;
    if (status.complete)
        r->in_complete += n;
    kymo_err err = symbolize_range(j, module, refs, n, status.complete, stored);
    kymo_module_close(module);
    return err;
}

kymo_err kymo_symbolize_profile(kymo_symbolizer *symbolizer, kymo_profile *profile,
                                const kymo_apply_options *options, kymo_apply_result *result)
{
    static const kymo_apply_options defaults;
    *result = (kymo_apply_result){0};
    job j = {.symbolizer = symbolizer,
             .profile = profile,
             .options = options ? options : &defaults,
             .result = result};
    kymo_placed_frame *refs;
    size_t n;
    KYMO_TRY(kymo_placed_frames_collect(profile, &refs, &n));
    count_generated(&j);
    kymo_err err = KYMO_OK;
    for (size_t i = 0, end; i < n && err == KYMO_OK; i = end) {
        for (end = i + 1; end < n && refs[end].file == refs[i].file; end++)
            continue;
        err = symbolize_file(&j, &refs[i], end - i);
        if (err == KYMO_OK && j.options->progress && !j.options->progress(j.options->user, end, n))
            err = KYMO_E_INTERRUPTED;
    }
    free(refs);
    kymo_vec_deinit(&j.addresses);
    kymo_vec_deinit(&j.symbols);
    kymo_vec_deinit(&j.lines);
    kymo_symbol_frames_deinit(&j.frames);
    return err;
}
