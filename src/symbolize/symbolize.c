/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.c - the symbolizer and how it finds the files of a module.
 *
 * Rule: a displayed name is the name of the code that ran. A file is used only if its build-id is
 * the one in memory, since libraries are replaced while programs that loaded them still run. A
 * debug file found by build-id needs no further check, so a module whose own file was deleted can
 * still be fully symbolized.
 */
#include "symbolize/symbolize.h"

#include <stdlib.h>
#include <string.h>

#include "symbolize/elf_symbols.h"
#include "symbolize/module_symbols.h"

void kymo_symbol_frames_deinit(kymo_symbol_frames *frames)
{
    kymo_vec_deinit(frames);
}

static kymo_err copy_options(kymo_symbolizer *s, const kymo_symbolizer_options *options)
{
    static const char *const usual_dirs[] = {"/usr/lib/debug"};
    const char *const *dirs = options->debug_dirs ? options->debug_dirs : usual_dirs;
    size_t n = options->debug_dirs ? options->n_debug_dirs : KYMO_ARRAY_LEN(usual_dirs);
    s->dirs = calloc(n + 1, sizeof *s->dirs);
    if (!s->dirs)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        s->dirs[i] = kymo_symbol_strings_add(&s->strings, dirs[i], strlen(dirs[i]));
        if (!s->dirs[i])
            return KYMO_E_NOMEM;
    }
    s->places = (kymo_debug_places){.dirs = s->dirs, .n_dirs = n};
    return KYMO_OK;
}

kymo_err kymo_symbolizer_create(const kymo_symbolizer_options *options, kymo_symbolizer **out)
{
    static const kymo_symbolizer_options defaults;
    kymo_symbolizer *s = calloc(1, sizeof *s);
    if (!s)
        return KYMO_E_NOMEM;
    s->cache = options ? options->cache : NULL;
    kymo_err err = copy_options(s, options ? options : &defaults);
    if (err != KYMO_OK)
        kymo_symbolizer_destroy(s);
    else
        *out = s;
    return err;
}

void kymo_symbolizer_destroy(kymo_symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    while (symbolizer->modules)
        kymo_module_close(symbolizer->modules);
    kymo_symbol_strings_deinit(&symbolizer->strings);
    free(symbolizer->dirs);
    free(symbolizer);
}

/* Frees everything except the module itself, which is in the symbolizer's list. */
static void free_tables(kymo_module_symbols *module)
{
    kymo_dwarf_close(module->dwarf);
    kymo_dwarf_close(module->alt);
    kymo_elf_close(module->alt_elf);
    kymo_elf_close(module->debug);
    kymo_elf_close(module->own);
    kymo_elf_symbols_deinit(&module->symbols);
    kymo_dwarf_units_deinit(&module->units);
    kymo_vec_deinit(&module->functions);
    kymo_vec_deinit(&module->loaded);
    kymo_index_deinit(&module->function_index);
}

void kymo_module_close(kymo_module_symbols *symbols)
{
    if (!symbols)
        return;
    kymo_module_symbols **link = &symbols->owner->modules;
    while (*link && *link != symbols)
        link = &(*link)->next;
    if (*link)
        *link = symbols->next;
    free_tables(symbols);
    free(symbols);
}

/* A search for the module's own file. */
typedef struct search {
    const kymo_symbol_module *wanted;
    kymo_module_symbols *module;
    kymo_err worst; /* why existing files cannot be used */
} search;

static bool is_wanted(void *user, kymo_elf_file *file)
{
    const kymo_symbol_module *wanted = ((search *)user)->wanted;
    if (wanted->build_id_len == 0)
        return !wanted->without_build_id || file->build_id_len == 0 || file->hides_build_id;
    return kymo_elf_has_id(file, wanted->build_id, wanted->build_id_len);
}

static void note_failure(search *s, kymo_err err)
{
    if (err == KYMO_E_MISMATCH)
        s->module->status.mismatched = true;
    /* Keeps the most useful error: a replaced file, then any other error, then a missing file. */
    if (s->worst == KYMO_E_NOT_FOUND || err == KYMO_E_MISMATCH)
        s->worst = err;
}

static kymo_err keep(kymo_module_symbols *m, const char *text, const char **kept)
{
    *kept = kymo_symbol_strings_add(&m->owner->strings, text, strlen(text));
    return *kept ? KYMO_OK : KYMO_E_NOMEM;
}

/* Sets module->own if there is such a file. Only KYMO_E_NOMEM fails. */
static kymo_err find_own(search *s, kymo_str *path)
{
    const kymo_symbol_module *wanted = s->wanted;
    kymo_module_symbols *m = s->module;
    if (wanted->build_id_len == 0 && !wanted->allow_unverified)
        return KYMO_OK;
    if (wanted->image) {
        kymo_elf_file *file;
        kymo_err err = kymo_elf_open_image(wanted->image, wanted->image_size, &file);
        if (err == KYMO_OK && !is_wanted(s, file)) {
            kymo_elf_close(file);
            err = KYMO_E_MISMATCH;
        }
        if (err == KYMO_OK) {
            m->own = file;
            return keep(m, "[image]", &m->status.file);
        }
        note_failure(s, err);
    }
    for (size_t i = 0; i < wanted->n_paths; i++) {
        if (!wanted->paths[i] || !wanted->paths[i][0])
            continue;
        kymo_err err = kymo_debug_open(wanted->paths[i], is_wanted, s, &m->own, path);
        if (err == KYMO_OK)
            return keep(m, path->data, &m->status.file);
        if (err == KYMO_E_NOMEM)
            return err;
        note_failure(s, err);
    }
    return KYMO_OK;
}

/* Sets module->debug if a separate file has what the module's own file lacks. */
static kymo_err find_debug(search *s, kymo_str *path)
{
    kymo_module_symbols *m = s->module;
    const kymo_debug_places *places = &m->owner->places;
    if (m->own && kymo_elf_find(m->own, ".debug_info") && kymo_elf_find(m->own, ".symtab"))
        return KYMO_OK;
    kymo_err err = KYMO_E_NOT_FOUND;
    if (s->wanted->build_id_len)
        err = kymo_debug_by_build_id(places, s->wanted->build_id, s->wanted->build_id_len,
                                     &m->debug, path);
    else if (m->own && m->own->build_id_len)
        err =
            kymo_debug_by_build_id(places, m->own->build_id, m->own->build_id_len, &m->debug, path);
    for (size_t i = 0; m->own && i < s->wanted->n_paths && err != KYMO_OK; i++)
        if (s->wanted->paths[i])
            err = kymo_debug_by_link(places, m->own, s->wanted->paths[i], &m->debug, path);
    if (err == KYMO_OK)
        return keep(m, path->data, &m->status.debug_file);
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

static kymo_err find_alt(kymo_module_symbols *m, kymo_str *path)
{
    if (!m->dwarf_elf)
        return KYMO_OK;
    const char *of = m->dwarf_elf == m->debug ? m->status.debug_file : m->status.file;
    kymo_err err = kymo_debug_alt(&m->owner->places, m->dwarf_elf, of, &m->alt_elf, path);
    if (err == KYMO_OK)
        return keep(m, path->data, &m->status.alt_file);
    m->status.alt_missing = err != KYMO_E_INVALID;
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

/* Adds one table of file; only KYMO_E_NOMEM and KYMO_E_TOO_BIG fail. */
static kymo_err add_table(kymo_module_symbols *m, kymo_elf_file *file, uint32_t type, bool *added)
{
    kymo_elf_section *table = file ? kymo_elf_find_type(file, type) : NULL;
    if (!table)
        return KYMO_OK;
    kymo_err err = kymo_elf_symbols_add_table(&m->symbols, file, table);
    if (err == KYMO_OK)
        *added = true;
    return err == KYMO_E_NOMEM || err == KYMO_E_TOO_BIG ? err : KYMO_OK;
}

static kymo_err add_mini(kymo_module_symbols *m)
{
    unsigned char *bytes;
    kymo_elf_file *mini;
    kymo_err err = kymo_debug_mini(m->own, &bytes, &mini);
    if (err != KYMO_OK)
        return err == KYMO_E_NOMEM ? err : KYMO_OK;
    err = add_table(m, mini, SHT_SYMTAB, &m->status.debugdata);
    kymo_elf_close(mini);
    free(bytes);
    return err;
}

static kymo_err read_symbols(kymo_module_symbols *m)
{
    kymo_symbol_status *st = &m->status;
    KYMO_TRY(add_table(m, m->debug, SHT_SYMTAB, &st->symtab));
    if (!st->symtab)
        KYMO_TRY(add_table(m, m->own, SHT_SYMTAB, &st->symtab));
    if (m->own) {
        KYMO_TRY(add_table(m, m->own, SHT_DYNSYM, &st->dynsym));
        if (m->own->n_sections <= 1) {
            kymo_err err = kymo_elf_symbols_add_dynamic(&m->symbols, m->own);
            st->dynsym = err == KYMO_OK;
            if (err == KYMO_E_NOMEM)
                return err;
        }
        if (!st->symtab)
            KYMO_TRY(add_mini(m));
        KYMO_TRY(kymo_elf_plt_add(&m->symbols, m->own));
    }
    kymo_elf_symbols_finish(&m->symbols, m->own ? m->own : m->debug);
    st->n_symbols = m->symbols.n_addresses;
    st->complete = st->symtab || st->debugdata || st->dwarf;
    return KYMO_OK;
}

static kymo_err open_files(search *s)
{
    kymo_module_symbols *m = s->module;
    kymo_str path = {0};
    kymo_err err = find_own(s, &path);
    if (err == KYMO_OK)
        err = find_debug(s, &path);
    if (err == KYMO_OK && !m->own && !m->debug)
        err = s->worst;
    if (err == KYMO_OK) {
        if (m->debug && kymo_elf_find(m->debug, ".debug_info"))
            m->dwarf_elf = m->debug;
        else if (m->own && kymo_elf_find(m->own, ".debug_info"))
            m->dwarf_elf = m->own;
        m->status.dwarf = m->dwarf_elf != NULL;
        err = find_alt(m, &path);
    }
    kymo_elf_file *const files[] = {m->own, m->debug, m->alt_elf};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(files); i++)
        if (files[i])
            files[i]->cache = m->owner->cache;
    kymo_str_deinit(&path);
    return err;
}

static kymo_module_symbols *find_open(const kymo_symbolizer *s, const kymo_symbol_module *module)
{
    for (kymo_module_symbols *m = s->modules; m && module->build_id_len; m = m->next)
        if (m->build_id_len == module->build_id_len &&
            memcmp(m->build_id, module->build_id, m->build_id_len) == 0)
            return m;
    return NULL;
}

kymo_err kymo_symbolizer_open_module(kymo_symbolizer *symbolizer, const kymo_symbol_module *module,
                                     kymo_module_symbols **out, kymo_symbol_status *status)
{
    kymo_symbol_status unused;
    status = status ? status : &unused;
    *status = (kymo_symbol_status){.err = KYMO_E_INVALID};
    if (module->build_id_len > KYMO_BUILD_ID_CAP)
        return status->err;
    kymo_module_symbols *m = find_open(symbolizer, module);
    if (m) {
        *status = m->status;
        *out = m;
        return KYMO_OK;
    }
    m = calloc(1, sizeof *m);
    status->err = KYMO_E_NOMEM;
    if (!m)
        return status->err;
    m->owner = symbolizer;
    m->build_id_len = module->build_id_len;
    if (module->build_id_len)
        memcpy(m->build_id, module->build_id, module->build_id_len);
    m->status.unverified = module->build_id_len == 0;
    search s = {.wanted = module, .module = m, .worst = KYMO_E_NOT_FOUND};
    kymo_err err = open_files(&s);
    if (err == KYMO_OK)
        err = read_symbols(m);
    m->status.err = err;
    *status = m->status;
    if (err != KYMO_OK) {
        free_tables(m);
        free(m);
        return err;
    }
    m->next = symbolizer->modules;
    symbolizer->modules = m;
    *out = m;
    return KYMO_OK;
}
