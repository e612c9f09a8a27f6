/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_firefox_tables.c - strings, functions, frames and stacks.
 *
 * Rows become rows of the profile when a sample needs them. A function that was inlined has a frame
 * and a stack of its own in these files, and so in the profile.
 */
#include <stdlib.h>
#include <string.h>

#include "import/firefox/read_firefox.h"

/* ---- columns ---- */

static uint32_t read_cell(kymo_json_read *j)
{
    char c = kymo_json_peek(j);
    if (c == '-' || (c >= '0' && c <= '9')) {
        int64_t value = kymo_json_read_scaled(j, 0);
        return value >= 0 && value < KYMO_NONE ? (uint32_t)value : KYMO_NONE;
    }
    kymo_json_skip(j);
    return KYMO_NONE;
}

/* The limit knows of columns in steps. */
enum { STEP = 4096 };

static kymo_err charge(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t, size_t rows,
                       size_t row_bytes)
{
    if (rows % STEP)
        return KYMO_OK;
    KYMO_TRY(kymo_import_charge(r->d, STEP * row_bytes));
    t->charged += STEP * row_bytes;
    return KYMO_OK;
}

static kymo_err read_column(struct kymo_firefox_reader *r, kymo_firefox_place place,
                            struct kymo_firefox_tables *t, kymo_firefox_column *column)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    if (place == 0 || kymo_json_peek(&j) != '[')
        return KYMO_OK;
    kymo_json_enter(&j, '[');
    while (kymo_json_next_element(&j)) {
        KYMO_TRY(charge(r, t, column->len, sizeof *column->data));
        KYMO_TRY(kymo_vec_push(column, read_cell(&j)));
    }
    return kymo_firefox_check(r, &j, "a column");
}

/* Reads columns of the table at a place; keys and columns have as many. */
static kymo_err read_table(struct kymo_firefox_reader *r, kymo_firefox_place place,
                           struct kymo_firefox_tables *t, const char *const *keys,
                           kymo_firefox_column *const *columns, size_t count)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    kymo_json_text key;
    if (place == 0)
        return KYMO_OK;
    kymo_json_enter(&j, '{');
    while (kymo_json_next_member(&j, &key)) {
        for (size_t i = 0; i < count; i++)
            if (kymo_json_is_text(&key, keys[i]) && kymo_json_peek(&j) && columns[i]->len == 0)
                KYMO_TRY(read_column(r, j.at, t, columns[i]));
        kymo_json_skip(&j);
    }
    return kymo_firefox_check(r, &j, "a table");
}
#define READ(r, place, keys, ...)                                                    \
    read_table((r), (place), t, (keys), (kymo_firefox_column *const[]){__VA_ARGS__}, \
               KYMO_ARRAY_LEN(keys))

static kymo_err read_strings(struct kymo_firefox_reader *r, kymo_firefox_place place,
                             struct kymo_firefox_tables *t)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    if (place == 0)
        return KYMO_OK;
    kymo_json_enter(&j, '[');
    while (kymo_json_next_element(&j)) {
        if (!kymo_json_peek(&j))
            break;
        KYMO_TRY(charge(r, t, t->strings.len, sizeof *t->strings.data));
        KYMO_TRY(kymo_vec_push(&t->strings, j.at));
        kymo_json_skip(&j);
    }
    return kymo_firefox_check(r, &j, "the strings");
}

static kymo_err make_results(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                             kymo_firefox_column *results, size_t count)
{
    KYMO_TRY(kymo_import_charge(r->d, count * sizeof *results->data));
    t->charged += count * sizeof *results->data;
    KYMO_TRY(kymo_vec_reserve(results, count));
    if (count)
        memset(results->data, 0xff, count * sizeof *results->data); /* KYMO_NONE */
    results->len = count;
    return KYMO_OK;
}

struct places {
    kymo_firefox_place strings, string_table, funcs, frames, stacks, resources, sources;
};

static kymo_err read_places(struct kymo_firefox_reader *r, const struct places *p,
                            struct kymo_firefox_tables *t)
{
    static const char *const funcs[] = {"name", "fileName", "source", "resource", "lineNumber"};
    static const char *const frames[] = {"func", "address", "inlineDepth", "line", "column"};
    static const char *const stacks[] = {"frame", "prefix"};
    static const char *const offsets[] = {"prefixOffset"};
    static const char *const resources[] = {"lib"};
    static const char *const sources[] = {"filename"};
    KYMO_TRY(read_strings(r, p->strings ? p->strings : p->string_table, t));
    KYMO_TRY(READ(r, p->funcs, funcs, &t->func_name, &t->func_file, &t->func_source,
                  &t->func_resource, &t->func_line));
    KYMO_TRY(READ(r, p->frames, frames, &t->frame_func, &t->frame_address, &t->frame_depth,
                  &t->frame_line, &t->frame_column));
    KYMO_TRY(READ(r, p->stacks, stacks, &t->stack_frame, &t->stack_prefix));
    t->has_offsets = t->stack_prefix.len == 0;
    if (t->has_offsets)
        KYMO_TRY(READ(r, p->stacks, offsets, &t->stack_prefix));
    KYMO_TRY(READ(r, p->resources, resources, &t->resource_lib));
    return READ(r, p->sources, sources, &t->source_file);
}

kymo_err kymo_firefox_read_tables(struct kymo_firefox_reader *r, kymo_firefox_place place,
                                  struct kymo_firefox_tables *t)
{
    static const char *const keys[] = {"stringArray", "stringTable",   "funcTable", "frameTable",
                                       "stackTable",  "resourceTable", "sources"};
    struct places p = {0};
    kymo_firefox_place *const places[] = {&p.strings, &p.string_table, &p.funcs,  &p.frames,
                                          &p.stacks,  &p.resources,    &p.sources};
    KYMO_TRY(kymo_firefox_find(r, place, keys, places, KYMO_ARRAY_LEN(keys)));
    KYMO_TRY(read_places(r, &p, t));
    KYMO_TRY(make_results(r, t, &t->functions, t->func_name.len));
    KYMO_TRY(make_results(r, t, &t->frames, t->frame_func.len));
    return make_results(r, t, &t->stacks, t->stack_frame.len);
}

void kymo_firefox_free_tables(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t)
{
    kymo_import_uncharge(r->d, t->charged);
    kymo_vec_free_all(t->strings.data, t->func_name.data, t->func_file.data, t->func_source.data,
                      t->func_resource.data, t->func_line.data, t->source_file.data,
                      t->resource_lib.data, t->frame_func.data, t->frame_address.data,
                      t->frame_depth.data, t->frame_line.data, t->frame_column.data,
                      t->stack_frame.data, t->stack_prefix.data, t->functions.data, t->frames.data,
                      t->stacks.data);
    memset(t, 0, sizeof *t);
}

/* A cell, KYMO_NONE where the column is shorter. */
static uint32_t cell(const kymo_firefox_column *column, uint32_t row)
{
    return row < column->len ? column->data[row] : KYMO_NONE;
}

static uint32_t cell_or_0(const kymo_firefox_column *column, uint32_t row)
{
    uint32_t value = cell(column, row);
    return value == KYMO_NONE ? 0 : value;
}

/* ---- functions ---- */

kymo_err kymo_firefox_table_string(struct kymo_firefox_reader *r,
                                   const struct kymo_firefox_tables *t, uint32_t row,
                                   uint32_t *string)
{
    kymo_json_text text;
    *string = 0;
    if (row == KYMO_NONE)
        return KYMO_OK;
    if (t->texts)
        t = t->texts;
    if (row >= t->strings.len)
        return kymo_import_fault(r->d, 0, "there is no string %u, only %zu", (unsigned)row,
                                 t->strings.len);
    kymo_json_read j = kymo_firefox_open(r, t->strings.data[row]);
    if (kymo_json_peek(&j) != '"')
        return KYMO_OK;
    kymo_json_read_text(&j, &text);
    return kymo_firefox_string(r, &text, string);
}

static kymo_err make_function(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                              uint32_t row)
{
    kymo_function function = {.start_line = cell_or_0(&t->func_line, row)};
    uint32_t file = cell(&t->func_file, row);
    uint32_t lib = cell(&t->resource_lib, cell(&t->func_resource, row));
    if (file == KYMO_NONE)
        file = cell(&(t->texts ? t->texts : t)->source_file, cell(&t->func_source, row));
    KYMO_TRY(kymo_firefox_table_string(r, t, cell(&t->func_name, row), &function.name));
    KYMO_TRY(kymo_firefox_table_string(r, t, file, &file));
    if (function.name == 0)
        KYMO_TRY(kymo_import_string(r->d, "?", 1, &function.name));
    function.module = cell(&r->modules, lib);
    return kymo_import_function(r->d, &function, file, &t->functions.data[row]);
}

static kymo_err find_function(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                              uint32_t row, uint32_t *function)
{
    if (row >= t->functions.len)
        return kymo_import_fault(r->d, 0, "there is no function %u, only %zu", (unsigned)row,
                                 t->functions.len);
    if (t->functions.data[row] == KYMO_NONE)
        KYMO_TRY(make_function(r, t, row));
    *function = t->functions.data[row];
    return KYMO_OK;
}

/* ---- frames ---- */

/* Code without a name is called by its address. */
static int is_unnamed(const kymo_profile *p, const kymo_function *f, uint32_t address)
{
    const char *name = kymo_profile_string(p, f->name);
    char *end;
    return name[0] == '0' && name[1] == 'x' && strtoul(name + 2, &end, 16) == address && !*end;
}

static kymo_category category_of(const kymo_profile *p, const kymo_function *f)
{
    const kymo_module *m = kymo_profile_module(p, f->module);
    const char *name = kymo_profile_string(p, f->name);
    if (strncmp(name, "[waiting: ", 10) == 0 || strncmp(name, "[blocked: ", 10) == 0)
        return KYMO_CATEGORY_WAITING;
    return m ? (kymo_category)m->category : KYMO_CATEGORY_OTHER;
}

static kymo_err make_frame(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                           uint32_t row, uint32_t *frame)
{
    kymo_profile *p = r->d->profile;
    kymo_line line = {.line = cell_or_0(&t->frame_line, row),
                      .column = cell_or_0(&t->frame_column, row)};
    uint32_t address = cell(&t->frame_address, row);
    uint32_t count;
    KYMO_TRY(find_function(r, t, cell(&t->frame_func, row), &line.function));
    const kymo_function f = *kymo_profile_function(p, line.function);
    KYMO_TRY(kymo_import_check_room(r->d));
    if (address != KYMO_NONE && f.module != KYMO_NONE && !cell_or_0(&t->frame_depth, row)) {
        int is_named = !is_unnamed(p, &f, address);
        KYMO_TRY(kymo_profile_add_frame(p, f.module, address, KYMO_CATEGORY_AUTO, frame));
        const kymo_line *was = kymo_profile_frame_lines(p, *frame, &count);
        if (!is_named || (was && memcmp(was, &line, sizeof line) == 0))
            return KYMO_OK;
        if (count == 0)
            return kymo_profile_frame_set_lines(p, *frame, &line, 1, KYMO_NONE, 1);
    }
    return kymo_profile_add_lines_frame(p, &line, 1, category_of(p, &f), frame);
}

static kymo_err find_frame(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                           uint32_t row, uint32_t *frame)
{
    if (row >= t->frames.len)
        return kymo_import_fault(r->d, 0, "there is no frame %u, only %zu", (unsigned)row,
                                 t->frames.len);
    if (t->frames.data[row] == KYMO_NONE)
        KYMO_TRY(make_frame(r, t, row, &t->frames.data[row]));
    *frame = t->frames.data[row];
    return KYMO_OK;
}

/* ---- stacks ---- */

/* The caller comes before in the table: so there is no cycle. */
static kymo_err find_caller(struct kymo_firefox_reader *r, const struct kymo_firefox_tables *t,
                            uint32_t row, uint32_t *caller)
{
    uint32_t prefix = cell(&t->stack_prefix, row);
    int is_outermost = prefix == KYMO_NONE || (t->has_offsets && prefix == 0);
    *caller = KYMO_NONE;
    if (is_outermost)
        return KYMO_OK;
    if (t->has_offsets ? prefix > row : prefix >= row)
        return kymo_import_fault(r->d, 0, "the caller of stack %u does not come before it",
                                 (unsigned)row);
    *caller = t->has_offsets ? row - prefix : prefix;
    return KYMO_OK;
}

/* Its caller is made already. */
static kymo_err make_stack(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                           uint32_t row)
{
    uint32_t caller;
    uint32_t frame = KYMO_NONE;
    uint32_t parent = KYMO_NONE;
    KYMO_TRY(find_caller(r, t, row, &caller));
    if (caller != KYMO_NONE)
        parent = t->stacks.data[caller];
    KYMO_TRY(find_frame(r, t, cell(&t->stack_frame, row), &frame));
    return kymo_import_stack(r->d, parent, frame, &t->stacks.data[row]);
}

/* The rows from the outermost that is not made down to this one. */
static kymo_err make_path(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                          uint32_t row)
{
    KYMO_VEC(uint32_t) path = {0};
    kymo_err err = KYMO_OK;
    for (uint32_t at = row; err == KYMO_OK && at != KYMO_NONE && t->stacks.data[at] == KYMO_NONE;) {
        err = kymo_vec_push(&path, at);
        if (err == KYMO_OK)
            err = find_caller(r, t, at, &at);
    }
    while (err == KYMO_OK && path.len > 0)
        err = make_stack(r, t, path.data[--path.len]);
    kymo_vec_deinit(&path);
    return err;
}

kymo_err kymo_firefox_find_stack(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                                 uint32_t row, uint32_t *stack)
{
    *stack = KYMO_NONE;
    if (row == KYMO_NONE)
        return KYMO_OK;
    if (row >= t->stacks.len)
        return kymo_import_fault(r->d, 0, "there is no stack %u, only %zu", (unsigned)row,
                                 t->stacks.len);
    if (t->stacks.data[row] == KYMO_NONE)
        KYMO_TRY(make_path(r, t, row));
    *stack = t->stacks.data[row];
    return KYMO_OK;
}
