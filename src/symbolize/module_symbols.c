/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_symbols.c - finds the functions of addresses in the tables of a module.
 *
 * A batch is handled in order of addresses, so each unit's tables are built once, for the addresses
 * of the batch. They are dropped when together they exceed TABLE_BYTES and the batch reaches
 * another unit. So a program with a gigabyte of line tables is symbolized in the memory of one
 * unit.
 *
 * Names: a DWARF function with a linkage name has that name, demangled. Without one, its
 * system_name is the symbol with the same start. Its name is that symbol's if it is mangled, else
 * the one in the source (the symbol of a clone would be `f.constprop.0`).
 */
#include "symbolize/module_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort_keys.h"
#include "symbolize/dwarf_functions.h"
#include "symbolize/dwarf_lines.h"

#define TABLE_BYTES (12u << 20)
/* Units that cover one address: in a valid file one, rarely two. */
#define MAX_UNITS_TRIED 8
#define MAX_INLINED 1024

/* Opens the DWARF at the first address. Only KYMO_E_NOMEM fails; damage leaves dwarf NULL. */
static kymo_err open_dwarf(kymo_module_symbols *m)
{
    if (m->dwarf_tried || !m->dwarf_elf)
        return KYMO_OK;
    m->dwarf_tried = true;
    kymo_err err = kymo_dwarf_open(m->dwarf_elf, &m->dwarf);
    if (err == KYMO_OK && m->alt_elf) {
        if (kymo_dwarf_open(m->alt_elf, &m->alt) == KYMO_E_NOMEM)
            return KYMO_E_NOMEM;
        m->dwarf->alt = m->alt;
    }
    if (err == KYMO_OK)
        err = kymo_dwarf_units_build(m->dwarf, &m->units);
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

static void drop_tables(kymo_module_symbols *m)
{
    for (size_t i = 0; i < m->loaded.len; i++) {
        dwarf_unit *unit = m->loaded.data[i];
        kymo_dwarf_functions_free(unit->functions);
        kymo_dwarf_lines_free(unit->lines);
        unit->functions = NULL;
        unit->lines = NULL;
    }
    m->loaded.len = 0;
    m->table_bytes = 0;
}

/* Builds the tables of a unit. KYMO_E_CORRUPT: it is unusable; KYMO_E_NOMEM. */
static kymo_err load_unit(kymo_module_symbols *m, dwarf_unit *unit)
{
    if (unit->functions && unit->lines)
        return KYMO_OK;
    if (m->table_bytes > TABLE_BYTES)
        drop_tables(m);
    if (!unit->functions)
        KYMO_TRY(kymo_dwarf_functions_build(m->dwarf, unit, &m->asked, &unit->functions));
    KYMO_TRY(kymo_vec_push(&m->loaded, unit));
    m->table_bytes += kymo_dwarf_functions_bytes(unit->functions);
    if (!unit->lines)
        KYMO_TRY(kymo_dwarf_lines_build(m->dwarf, unit, &m->asked, &unit->lines));
    m->table_bytes += kymo_dwarf_lines_bytes(unit->lines);
    return KYMO_OK;
}

/* The function at an address of a unit that is loaded; NULL: none. */
static kymo_err find_function(kymo_module_symbols *m, dwarf_unit *unit, uint64_t address,
                              const dwarf_function **out)
{
    *out = kymo_dwarf_functions_find(unit->functions, address);
    if (*out || unit->functions->has_all)
        return KYMO_OK;
    dwarf_function_table *all;
    KYMO_TRY(kymo_dwarf_functions_build(m->dwarf, unit, NULL, &all));
    m->table_bytes += kymo_dwarf_functions_bytes(all) - kymo_dwarf_functions_bytes(unit->functions);
    kymo_dwarf_functions_free(unit->functions);
    unit->functions = all;
    *out = kymo_dwarf_functions_find(all, address);
    return KYMO_OK;
}

/* The DWARF functions and line of one address. */
typedef struct place {
    dwarf_unit *unit;
    const dwarf_function *function;
    const dwarf_row *row;
} place;

/* Uses the first unit with a function there, else the first with a line. */
static kymo_err find_place(kymo_module_symbols *m, uint64_t address, place *out)
{
    *out = (place){0};
    place best = {0};
    uint32_t at = kymo_intervals_find(&m->units.ranges, address);
    for (int tries = 0; at != KYMO_INTERVAL_NONE && tries < MAX_UNITS_TRIED; tries++) {
        dwarf_unit *unit = kymo_dwarf_units_get(m->dwarf, &m->units, at);
        kymo_err err = unit ? load_unit(m, unit) : KYMO_E_NOT_FOUND;
        if (err == KYMO_E_NOMEM)
            return err;
        if (err == KYMO_OK) {
            place p = {unit, NULL, kymo_dwarf_lines_find(unit->lines, address)};
            KYMO_TRY(find_function(m, unit, address, &p.function));
            if (p.function) {
                *out = p;
                return KYMO_OK;
            }
            /* Loading another unit may drop this one's tables, so only its name is kept. */
            if (p.row && !best.unit)
                best.unit = unit;
        }
        at = kymo_intervals_next(&m->units.ranges, at, address);
    }
    if (best.unit) {
        KYMO_TRY(load_unit(m, best.unit));
        *out = (place){best.unit, NULL, kymo_dwarf_lines_find(best.unit->lines, address)};
    }
    return KYMO_OK;
}

/* The name of a DWARF function, resolved once for each entry. */
static kymo_err name_function(kymo_module_symbols *m, const dwarf_function *f, named_function *out)
{
    uint64_t key[2] = {f->entry, f->in_alt};
    uint64_t hash = kymo_hash_words(key, 2, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&m->function_index, hash, &probe, &at)) {
        const named_function *known = &m->functions.data[at];
        if (known->entry == f->entry && known->in_alt == f->in_alt) {
            *out = *known;
            return KYMO_OK;
        }
    }
    dwarf_function_name name;
    kymo_dwarf_function_name(m->dwarf, f->entry, f->in_alt, &name);
    named_function n = {.entry = f->entry,
                        .in_alt = f->in_alt,
                        .line = name.line,
                        .is_wrapper = name.is_wrapper,
                        .linked = name.linkage_name != NULL};
    const char *text = name.linkage_name ? name.linkage_name : name.name;
    if (text) {
        KYMO_TRY(
            kymo_symbol_strings_add_name(&m->owner->strings, text, &n.system_name, &n.function));
    }
    if (m->functions.len >= UINT32_MAX - 1)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&m->functions, 1));
    KYMO_TRY(kymo_index_put(&m->function_index, hash, (uint32_t)m->functions.len));
    m->functions.data[m->functions.len++] = n;
    *out = n;
    return KYMO_OK;
}

static kymo_err path_of(kymo_module_symbols *m, dwarf_unit *unit, uint32_t file, const char **out)
{
    *out = NULL;
    if (file >= unit->lines->files.len)
        return KYMO_OK;
    const char **path = &unit->lines->files.data[file].path;
    kymo_str *scratch = &m->owner->strings.scratch;
    if (!*path && kymo_dwarf_lines_path(unit, unit->lines, file, scratch)) {
        *path = kymo_symbol_strings_add(&m->owner->strings, scratch->data, scratch->len);
        if (!*path)
            return KYMO_E_NOMEM;
    }
    *out = *path;
    return scratch->failed ? KYMO_E_NOMEM : KYMO_OK;
}

/* A version (`read@@GLIBC_2.2.5`) is not part of the function's name. */
static kymo_err name_symbol(kymo_module_symbols *m, const kymo_elf_symbol *symbol,
                            const char **system, const char **function)
{
    kymo_symbol_strings *strings = &m->owner->strings;
    KYMO_TRY(kymo_symbol_strings_add_name(strings, symbol->name, system, function));
    const char *at = strchr(*function, '@');
    if (at && at != *function && strcmp(at, "@plt") != 0) {
        *function = kymo_symbol_strings_add(strings, *function, (size_t)(at - *function));
        if (!*function)
            return KYMO_E_NOMEM;
    }
    return KYMO_OK;
}

/* A function without a linkage name is named by the symbol with the same start, not by the one
 * at the address: its cold part has another symbol, `f.cold`, and would look like another
 * function. */
static kymo_err name_by_start(kymo_module_symbols *m, uint64_t start, kymo_symbol_frame *frame)
{
    const kymo_elf_symbol *symbol = kymo_elf_symbols_find(&m->symbols, start);
    if (!symbol || symbol->address != start)
        return KYMO_OK;
    const char *function;
    KYMO_TRY(name_symbol(m, symbol, &frame->system_name, &function));
    /* gcc omits the linkage name of functions local to a C++ file; the symbol has it. */
    if (function != frame->system_name && !strchr(symbol->name, '@'))
        frame->function = function;
    return KYMO_OK;
}

/* The frames of an address in a DWARF function: inlined functions, then the function. */
static kymo_err add_functions(kymo_module_symbols *m, const place *p, kymo_symbol_result *result,
                              kymo_symbol_frames *frames)
{
    kymo_symbol_frame frame = {0};
    if (p->row) {
        KYMO_TRY(path_of(m, p->unit, p->row->file, &frame.file));
        frame.line = p->row->line;
    }
    const dwarf_function *f = p->function;
    named_function name = {0};
    for (int depth = 0; depth < MAX_INLINED; depth++) {
        KYMO_TRY(name_function(m, f, &name));
        frame.function = name.function;
        frame.system_name = name.system_name;
        frame.start_line = name.line;
        if (!f->inlined)
            break;
        if (!name.is_wrapper)
            KYMO_TRY(kymo_vec_push(frames, frame));
        frame = (kymo_symbol_frame){.line = f->call_line};
        KYMO_TRY(path_of(m, p->unit, f->call_file, &frame.file));
        if (f->parent == KYMO_INTERVAL_NONE) {
            f = NULL; /* without an outer function: use the symbol */
            break;
        }
        f = &p->unit->functions->functions.data[f->parent];
    }
    if (f) {
        if (!name.linked && frame.function)
            KYMO_TRY(name_by_start(m, f->low, &frame));
        result->named = result->named || frame.function != NULL;
    }
    if (!frame.function) {
        frame.function = result->symbol_function;
        frame.system_name = result->symbol_name;
    }
    return kymo_vec_push(frames, frame);
}

/* The function of an address without any name. */
static kymo_err find_extent(kymo_module_symbols *m, uint64_t address, kymo_symbol_result *result)
{
    if (!m->eh_tried && m->own) {
        m->eh_tried = true;
        KYMO_TRY(kymo_eh_functions_open(m->own, &m->eh));
    }
    (void)kymo_eh_functions_find(&m->eh, address, &result->function_address,
                                 &result->function_size);
    return KYMO_OK;
}

/* Whether a symbol that is in no unit so far may be in one. A linkage stub is in none. Where a
 * program begins is the C library's assembler code: assemblers write .debug_aranges, so if there is
 * any, this code has no debug information. To look on takes the roots of all units, for a symbol
 * that is in every stack. */
static bool may_have_unit(const kymo_module_symbols *m, const kymo_elf_symbol *symbol)
{
    if (!symbol)
        return true;
    uint64_t entry = m->dwarf_elf->entry;
    bool is_start = entry >= symbol->address && entry < symbol->end;
    return symbol->rank != KYMO_ELF_RANK_STUB && !(is_start && m->units.ranges.len);
}

static kymo_err symbolize_one(kymo_module_symbols *m, uint64_t address, kymo_symbol_result *result,
                              kymo_symbol_frames *frames)
{
    *result = (kymo_symbol_result){.first_frame = (uint32_t)frames->len};
    const kymo_elf_symbol *symbol = kymo_elf_symbols_find(&m->symbols, address);
    if (symbol) {
        result->symbol_address = symbol->address;
        result->symbol_size = symbol->end - symbol->address;
        KYMO_TRY(name_symbol(m, symbol, &result->symbol_name, &result->symbol_function));
        result->named = true;
    }
    place p = {0};
    if (m->dwarf) {
        KYMO_TRY(find_place(m, address, &p));
        while (!p.unit && may_have_unit(m, symbol) && kymo_elf_is_code(m->dwarf_elf, address)) {
            kymo_err err = kymo_dwarf_units_widen(m->dwarf, &m->units);
            if (err == KYMO_E_NOT_FOUND)
                break;
            KYMO_TRY(err);
            KYMO_TRY(find_place(m, address, &p));
        }
    }
    if (p.function) {
        KYMO_TRY(add_functions(m, &p, result, frames));
    } else if (symbol || p.row) {
        kymo_symbol_frame frame = {.function = result->symbol_function,
                                   .system_name = result->symbol_name};
        if (p.row) {
            KYMO_TRY(path_of(m, p.unit, p.row->file, &frame.file));
            frame.line = p.row->line;
        }
        KYMO_TRY(kymo_vec_push(frames, frame));
    }
    result->n_frames = (uint32_t)(frames->len - result->first_frame);
    if (!symbol && !p.function)
        KYMO_TRY(find_extent(m, address, result));
    return frames->len > UINT32_MAX ? KYMO_E_TOO_BIG : KYMO_OK;
}

typedef struct request {
    uint64_t address;
    size_t position;
} request;

static int by_address(const void *a, const void *b)
{
    const request *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

kymo_err kymo_module_symbolize(kymo_module_symbols *symbols, const uint64_t *addresses, size_t n,
                               kymo_symbol_result *results, kymo_symbol_frames *frames)
{
    if (n == 0)
        return KYMO_OK;
    KYMO_TRY(open_dwarf(symbols));
    request *order = calloc(n, sizeof *order);
    uint64_t *asked = calloc(n, sizeof *asked);
    if (!order || !asked) {
        kymo_vec_free_all(order, asked);
        return KYMO_E_NOMEM;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = (request){addresses[i], i};
    kymo_sort_keys(order, n, sizeof *order, by_address);
    for (size_t i = 0; i < n; i++)
        asked[i] = order[i].address;
    symbols->asked = (dwarf_asked){asked, n};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < n && err == KYMO_OK; i++) {
        kymo_symbol_result *result = &results[order[i].position];
        if (i && order[i].address == order[i - 1].address)
            *result = results[order[i - 1].position];
        else
            err = symbolize_one(symbols, order[i].address, result, frames);
    }
    drop_tables(symbols);
    symbols->asked = (dwarf_asked){0};
    kymo_vec_free_all(order, asked);
    return err;
}
