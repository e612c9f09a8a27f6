/* SPDX-License-Identifier: Apache-2.0 */
/* copy_code.c - modules, sources, functions, symbols, frames with their lines, stacks. */
#include <string.h>

#include "profile/tables.h"
#include "select/copy_state.h"

/* A stack of a forked child may have modules of its parent, which is not kept: they go to the first
 * process that is. */
static uint32_t process_of(const struct kymo_copy *c, const kymo_module *m)
{
    return c->process[m->process] == KYMO_NONE ? 0 : c->process[m->process];
}

static kymo_err copy_module(struct kymo_copy *c, uint32_t id)
{
    const kymo_module *m = kymo_profile_module(c->from, id);
    kymo_module row = *m;
    row.process = process_of(c, m);
    KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_PATH, m->path, &row.path));
    KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_PROGRAM, m->name, &row.name));
    KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_LITERAL, m->arch, &row.arch));
    KYMO_TRY(kymo_profile_add_module(c->to, &row, &c->module[id]));
    uint32_t file = kymo_profile_module_file(c->from, id);
    return kymo_profile_set_module_symbols(c->to, c->module[id],
                                           kymo_profile_module(c->from, file)->symbols);
}

/* The module of a function is the first of its file, which may be of a process that is not kept. */
static void map_files(struct kymo_copy *c)
{
    uint32_t count = kymo_profile_count(c->from, KYMO_TABLE_MODULES);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t file = kymo_profile_module_file(c->from, i);
        if (c->module[file] == KYMO_NONE)
            c->module[file] = c->module[i];
    }
}

kymo_err kymo_copy_modules(struct kymo_copy *c)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MODULES); i++)
        if (c->module[i] != KYMO_NONE)
            KYMO_TRY(copy_module(c, i));
    map_files(c);
    return KYMO_OK;
}

static kymo_err copy_source(struct kymo_copy *c, uint32_t id)
{
    const char *path;
    KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_PATH, kymo_profile_source(c->from, id), &path));
    return kymo_profile_add_source(c->to, path, strlen(path), &c->source[id]);
}

static kymo_err copy_function(struct kymo_copy *c, uint32_t id)
{
    const kymo_function *f = kymo_profile_function(c->from, id);
    kymo_function row = {.source = kymo_copy_map(c->source, f->source),
                         .start_line = f->start_line,
                         .module = kymo_copy_map(c->module, f->module)};
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, f->name, &row.name));
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, f->system_name, &row.system_name));
    return kymo_profile_add_function(c->to, &row, &c->function[id]);
}

static kymo_err copy_symbol(struct kymo_copy *c, uint32_t id)
{
    kymo_symbol row = *kymo_profile_symbol(c->from, id);
    row.module = kymo_copy_map(c->module, row.module);
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, row.name, &row.name));
    return kymo_profile_add_symbol(c->to, &row, &c->symbol[id]);
}

/* The lines of a frame, with the functions of the copy; returns how many there are. */
static uint32_t map_lines(const struct kymo_copy *c, uint32_t frame,
                          kymo_line copy[KYMO_FRAME_LINES_MAX])
{
    uint32_t count;
    const kymo_line *lines = kymo_profile_frame_lines(c->from, frame, &count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = lines[i];
        copy[i].function = c->function[lines[i].function];
    }
    return count;
}

/* Frames of the same place in the same file share their lines, and go on to do so. */
static kymo_err copy_lines(struct kymo_copy *c, uint32_t id)
{
    kymo_line copy[KYMO_FRAME_LINES_MAX];
    uint32_t count;
    const kymo_frame *f = kymo_profile_frame(c->from, id);
    kymo_profile_frame_lines(c->from, id, &count);
    uint32_t *owner = count > 0 ? &c->line_owner[f->first_line] : NULL;
    if (owner && *owner != KYMO_NONE) {
        const kymo_frame *first = kymo_profile_frame(c->to, *owner);
        if (first->line_count == count && first->named == f->named &&
            first->symbol == kymo_copy_map(c->symbol, f->symbol))
            return kymo_profile_frame_share_lines(c->to, c->frame[id], *owner);
    }
    map_lines(c, id, copy);
    if (owner)
        *owner = c->frame[id];
    return kymo_profile_frame_set_lines(c->to, c->frame[id], copy, count,
                                        kymo_copy_map(c->symbol, f->symbol), f->named);
}

static kymo_err copy_frame(struct kymo_copy *c, uint32_t id)
{
    kymo_line copy[KYMO_FRAME_LINES_MAX];
    const kymo_frame *f = kymo_profile_frame(c->from, id);
    kymo_category category = (kymo_category)f->category;
    if (f->address == KYMO_NO_ADDRESS)
        return kymo_profile_add_lines_frame(c->to, copy, map_lines(c, id, copy), category,
                                            &c->frame[id]);
    KYMO_TRY(kymo_profile_add_frame(c->to, kymo_copy_map(c->module, f->module), f->address,
                                    category, &c->frame[id]));
    return copy_lines(c, id);
}

#define EACH_NEEDED(table, map, copy_row)                               \
    for (uint32_t i = 0; i < kymo_profile_count(c->from, (table)); i++) \
        if ((map)[i] != KYMO_NONE)                                      \
            KYMO_TRY(copy_row(c, i));

kymo_err kymo_copy_code(struct kymo_copy *c)
{
    kymo_stacks stacks = kymo_profile_stacks(c->from);
    EACH_NEEDED(KYMO_TABLE_SOURCES, c->source, copy_source)
    EACH_NEEDED(KYMO_TABLE_FUNCTIONS, c->function, copy_function)
    EACH_NEEDED(KYMO_TABLE_SYMBOLS, c->symbol, copy_symbol)
    EACH_NEEDED(KYMO_TABLE_FRAMES, c->frame, copy_frame)
    for (uint32_t i = 0; i < stacks.count; i++)
        if (c->stack[i] != KYMO_NONE)
            KYMO_TRY(kymo_profile_add_stack(c->to, kymo_copy_map(c->stack, stacks.parent[i]),
                                            c->frame[stacks.frame[i]], &c->stack[i]));
    return KYMO_OK;
}
