/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_map.c - the rows of generated code and how one is found.
 *
 * Rows are sorted by process and start. A search begins at the last row that starts at or before
 * the address and goes backwards as long as a row there can still reach the address (max_end). It
 * meets every row that covers the address: one, or several where memory was reused. A hostile file
 * may have very many of them; after LOOK_MAX rows the search ends with the best so far.
 */
#include "profile/code_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "profile/code_name.h"

#define LOOK_MAX 256
#define CODE_BYTES_MAX (1ull << 47) /* of one piece, and of all of a process */
/* Some runtimes name code in a separate thread, a moment after it began to run. */
#define LATE_NS 1000000000u

void kymo_code_map_deinit(kymo_code_map *map)
{
    kymo_vec_deinit(&map->rows);
    kymo_vec_deinit(&map->lines);
    kymo_vec_deinit(&map->processes);
}

/* ---- adding ---- */

static kymo_err open_process(kymo_code_map *map, kymo_profile *profile, uint32_t process)
{
    while (map->processes.len <= process)
        KYMO_TRY(kymo_vec_push(&map->processes, (struct kymo_code_process){.module = KYMO_NONE}));
    struct kymo_code_process *p = &map->processes.data[process];
    if (p->module != KYMO_NONE)
        return KYMO_OK;
    kymo_module row = {
        .size = sizeof row,
        .process = process,
        .path = KYMO_CODE_MODULE,
        .category = KYMO_CATEGORY_JIT,
    };
    return kymo_profile_add_module(profile, &row, &p->module);
}

static int by_offset(const void *a, const void *b)
{
    const kymo_code_line_row *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Adds the lines that are of the function's own file. A line of another file was inlined, and
 * the event does not say from which function. Such a line keeps its place, with line number 0. */
static kymo_err add_lines(kymo_code_map *map, const kymo_event_code *e, const char *file,
                          size_t file_len, kymo_code_row *row)
{
    row->first_line = map->lines.len;
    row->line_count = e->line_count;
    KYMO_TRY(kymo_vec_reserve(&map->lines, e->line_count));
    for (uint32_t i = 0; i < e->line_count; i++) {
        const kymo_event_code_line *l = &e->lines[i];
        const char *of = l->file < e->file_count ? e->files[l->file] : "";
        int own =
            file && (*of == '\0' || (strlen(of) == file_len && memcmp(of, file, file_len) == 0));
        map->lines.data[map->lines.len++] =
            (kymo_code_line_row){l->offset, own ? l->line : 0, own ? l->column : 0};
    }
    if (e->line_count > 1)
        qsort(map->lines.data + row->first_line, e->line_count, sizeof *map->lines.data, by_offset);
    return KYMO_OK;
}

static kymo_err add_names(kymo_profile *profile, const kymo_event_code *e,
                          const kymo_code_name *split, kymo_code_row *row)
{
    const char *name = e->name && *e->name ? e->name : "(no name)";
    kymo_function function = {
        .source = KYMO_NONE, .start_line = split->line, .module = row->module};
    kymo_symbol symbol = {
        .module = row->module, .address = row->shown, .size_bytes = e->size_bytes};
    if (split->function_len == 0)
        KYMO_TRY(kymo_profile_add_string(profile, name, strlen(name), &function.name));
    else
        KYMO_TRY(
            kymo_profile_add_string(profile, split->function, split->function_len, &function.name));
    if (split->file)
        KYMO_TRY(kymo_profile_add_source(profile, split->file, split->file_len, &function.source));
    KYMO_TRY(kymo_profile_add_function(profile, &function, &row->function));
    /* As the runtime wrote it: the name says which compiler made the code. */
    KYMO_TRY(kymo_profile_add_string(profile, name, strlen(name), &symbol.name));
    return kymo_profile_add_symbol(profile, &symbol, &row->symbol);
}

kymo_err kymo_code_map_add(kymo_code_map *map, kymo_profile *profile, const kymo_event_code *e)
{
    if (e->process >= kymo_profile_count(profile, KYMO_TABLE_PROCESSES) || e->size_bytes == 0 ||
        e->start > UINT64_MAX - e->size_bytes)
        return KYMO_E_INVALID;
    if (map->rows.len >= KYMO_SYMBOLS_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(open_process(map, profile, e->process));
    struct kymo_code_process *p = &map->processes.data[e->process];
    /* Longer than memory can be: not worth a row. */
    if (e->size_bytes > CODE_BYTES_MAX || p->used_bytes > CODE_BYTES_MAX)
        return KYMO_OK;
    kymo_code_row row = {
        .start = e->start,
        .end = e->start + e->size_bytes,
        .from_ns = e->from_ns,
        .to_ns = e->to_ns,
        .shown = p->used_bytes,
        .process = e->process,
        .order = (uint32_t)map->rows.len,
        .module = p->module,
    };
    kymo_code_name split = kymo_code_name_split(e->name ? e->name : "");
    if (!split.file && e->line_count > 0 && e->lines[0].file < e->file_count &&
        e->files[e->lines[0].file][0] != '\0') {
        split.file = e->files[e->lines[0].file];
        split.file_len = strlen(split.file);
    }
    KYMO_TRY(add_names(profile, e, &split, &row));
    KYMO_TRY(add_lines(map, e, split.file, split.file_len, &row));
    KYMO_TRY(kymo_vec_push(&map->rows, row));
    p->used_bytes += (e->size_bytes + 15) / 16 * 16;
    return KYMO_OK;
}

/* ---- finding ---- */

static int by_start(const void *a, const void *b)
{
    const kymo_code_row *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

void kymo_code_map_prepare(kymo_code_map *map)
{
    if (map->rows.len > 1)
        qsort(map->rows.data, map->rows.len, sizeof *map->rows.data, by_start);
    for (size_t i = 0; i < map->rows.len; i++) {
        kymo_code_row *row = &map->rows.data[i];
        struct kymo_code_process *p = &map->processes.data[row->process];
        if (p->count++ == 0)
            p->first = i;
        row->max_end = row->end;
        if (p->count > 1 && row[-1].max_end > row->end)
            row->max_end = row[-1].max_end;
    }
}

/* Narrows [*from, *to) around t by a time at which the answer may change. */
static void bound(uint64_t moment_ns, uint64_t t, uint64_t *from_ns, uint64_t *to_ns)
{
    if (moment_ns <= t && moment_ns > *from_ns)
        *from_ns = moment_ns;
    if (moment_ns > t && moment_ns < *to_ns)
        *to_ns = moment_ns;
}

/* Whether `row` is a better answer for t than `best` (NULL: none yet). */
static int is_better(const kymo_code_row *row, const kymo_code_row *best, uint64_t t)
{
    int late = row->from_ns > t;
    if ((late && row->from_ns - t > LATE_NS) || (row->to_ns != 0 && row->to_ns <= t))
        return 0;
    if (!best)
        return 1;
    if (late != (best->from_ns > t))
        return !late;
    if (row->from_ns != best->from_ns)
        return late ? row->from_ns < best->from_ns : row->from_ns > best->from_ns;
    return row->order > best->order;
}

/* Whether row i begins at or before an address. */
static int begins_row(const void *rows, size_t i, const void *address)
{
    return ((const kymo_code_row *)rows)[i].start <= *(const uint64_t *)address;
}

const kymo_code_row *kymo_code_map_find(const kymo_code_map *map, uint32_t process,
                                        uint64_t address, uint64_t time_ns, uint64_t *from_ns,
                                        uint64_t *to_ns, uint64_t *work)
{
    *from_ns = 0;
    *to_ns = UINT64_MAX;
    if (process >= map->processes.len || map->processes.data[process].count == 0)
        return NULL;
    const struct kymo_code_process *p = &map->processes.data[process];
    const kymo_code_row *rows = map->rows.data + p->first;
    size_t before = kymo_search_count(rows, p->count, begins_row, &address);
    const kymo_code_row *best = NULL;
    for (size_t look = 0; before > 0 && rows[before - 1].max_end > address && look < LOOK_MAX;
         look++) {
        const kymo_code_row *row = &rows[--before];
        ++*work;
        if (row->end <= address)
            continue;
        bound(row->from_ns, time_ns, from_ns, to_ns);
        bound(row->to_ns, time_ns, from_ns, to_ns);
        if (row->from_ns > LATE_NS)
            bound(row->from_ns - LATE_NS, time_ns, from_ns, to_ns);
        if (is_better(row, best, time_ns))
            best = row;
    }
    return best;
}
