/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_shared.c - the tables that all threads share: strings, sources, symbols, resources,
 * functions, frames, stacks.
 *
 * A table is written in as many passes as it has columns; each pass meets the rows in the order of
 * the numbers that firefox_numbers.c gave out.
 */
#include "encode/firefox/firefox.h"
#include "encode/json_table.h"

/* ---- small tables ---- */

/* All strings of the profile by their numbers, then names that Kymo adds, then ids of flows.
 * Strings that no number refers to are empty: texts of markers, which may be most of the file,
 * are written in the markers themselves. So removing a marker removes its text. */
static void write_strings(kymo_firefox *w)
{
    char text[KYMO_STRING_MAX + 32];
    kymo_json_key_array(w->json, "stringArray");
    for (size_t i = 0; i < w->p->strings.len; i++)
        kymo_json_string(w->json, w->p->strings.data[i].data,
                         w->string_used[i] ? w->p->strings.data[i].len : 0);
    for (uint32_t i = 0; i < w->p->frames.len; i++)
        if (w->frame_same[i] == i && w->p->frames.data[i].line_count == 0)
            kymo_json_cstr(w->json, kymo_profile_frame_label(w->p, i, text, sizeof text));
    if (w->lacks_stacks)
        kymo_json_cstr(w->json, KYMO_NO_STACK_NAME);
    kymo_firefox_put_flows(w);
    kymo_json_end_array(w->json);
}

static void put_address(kymo_json *j, uint64_t address)
{
    if (address == KYMO_NO_ADDRESS)
        kymo_json_i64(j, -1);
    else
        kymo_json_u64(j, address);
}

static void write_symbols(kymo_firefox *w)
{
    kymo_json *j = w->json;
    size_t n = w->p->symbols.len;
    const kymo_symbol *s = w->p->symbols.data;
    kymo_json_key_object(j, "nativeSymbols");
    KYMO_JSON_COLUMN(j, "libIndex", i, n, kymo_json_u64(j, w->lib_of[s[i].module]));
    KYMO_JSON_COLUMN(
        j, "address", i, n,
        put_address(j, s[i].address <= KYMO_FIREFOX_EXACT_MAX ? s[i].address : KYMO_NO_ADDRESS));
    KYMO_JSON_COLUMN(j, "name", i, n, kymo_json_u64(j, s[i].name));
    kymo_json_key_array(j, "functionSize");
    for (size_t i = 0; i < n; i++)
        if (s[i].size_bytes > 0 && s[i].size_bytes <= KYMO_FIREFOX_EXACT_MAX)
            kymo_json_u64(j, s[i].size_bytes);
        else
            kymo_json_null(j);
    kymo_json_end_array(j);
    kymo_json_end_table(j, n);
}

static void write_resources(kymo_firefox *w)
{
    kymo_json *j = w->json;
    kymo_json_key_object(j, "resourceTable");
    KYMO_JSON_COLUMN(j, "lib", i, w->lib_count, kymo_json_u64(j, i));
    kymo_json_key_array(j, "name");
    for (size_t i = 0; i < w->p->modules.len; i++)
        if (w->p->module_ids.data[i].file == i)
            kymo_json_u64(j, w->p->module_ids.data[i].name);
    kymo_json_end_array(j);
    kymo_json_constant_column(j, "host", "null", w->lib_count);
    kymo_json_constant_column(j, "type", "1", w->lib_count);
    kymo_json_end_table(j, w->lib_count);
}

/* ---- functions ---- */

static void put_resource(kymo_firefox *w, uint32_t module)
{
    if (module == KYMO_NONE)
        kymo_json_i64(w->json, -1);
    else
        kymo_json_u64(w->json, w->lib_of[module]);
}

static void function_name(kymo_firefox *w, const kymo_function *f)
{
    kymo_json_u64(w->json, f->name);
}

static void function_resource(kymo_firefox *w, const kymo_function *f)
{
    put_resource(w, f->module);
}

static void function_source(kymo_firefox *w, const kymo_function *f)
{
    kymo_json_u64_or_null(w->json, f->source, KYMO_NONE);
}

static void function_line(kymo_firefox *w, const kymo_function *f)
{
    kymo_json_u64_or_null(w->json, f->start_line, 0);
}

/* Writes one column for the functions of the profile; the caller adds cells of other functions. */
static void begin_function_column(kymo_firefox *w, const char *name,
                                  void (*cell)(kymo_firefox *, const kymo_function *))
{
    uint32_t next = 0;
    kymo_json_key_array(w->json, name);
    for (size_t i = 0; i < w->p->functions.len; i++)
        if (w->function_of[i] == next) {
            cell(w, &w->p->functions.data[i]);
            next++;
        }
}

static void null_cells(kymo_json *j, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        kymo_json_null(j);
}

/* "JavaScript" in the viewer's filter is code that an interpreter runs. */
static void write_is_script(kymo_firefox *w, uint32_t made_up)
{
    uint32_t next = 0;
    kymo_json_key_array(w->json, "isJS");
    for (size_t i = 0; i < w->p->functions.len; i++)
        if (w->function_of[i] == next) {
            kymo_json_bool(w->json, w->is_script[i]);
            next++;
        }
    for (uint32_t i = 0; i < made_up; i++)
        kymo_json_bool(w->json, 0);
    kymo_json_end_array(w->json);
}

static void write_functions(kymo_firefox *w)
{
    kymo_json *j = w->json;
    uint32_t made_up = w->unnamed_count + (w->lacks_stacks != 0);
    uint32_t count = w->function_count + made_up;
    kymo_json_key_object(j, "funcTable");
    begin_function_column(w, "name", function_name);
    for (uint32_t i = 0; i < made_up; i++)
        kymo_json_u64(j, w->p->strings.len + i);
    kymo_json_end_array(j);
    write_is_script(w, made_up);
    kymo_json_constant_column(j, "relevantForJS", "false", count);
    begin_function_column(w, "resource", function_resource);
    for (size_t i = 0; i < w->p->frames.len; i++)
        if (w->frame_same[i] == i && w->p->frames.data[i].line_count == 0)
            put_resource(w, kymo_firefox_frame_file(w->p, &w->p->frames.data[i]));
    if (w->lacks_stacks)
        put_resource(w, KYMO_NONE);
    kymo_json_end_array(j);
    begin_function_column(w, "source", function_source);
    null_cells(j, made_up);
    kymo_json_end_array(j);
    begin_function_column(w, "lineNumber", function_line);
    null_cells(j, made_up);
    kymo_json_end_array(j);
    kymo_json_constant_column(j, "columnNumber", "null", count);
    kymo_json_constant_column(j, "originalLocation", "null", count);
    kymo_json_end_table(j, count);
}

/* ---- frames ---- */

/* One cell of the frame table. line: NULL for a frame without a name. */
typedef struct cell {
    const kymo_frame *frame;
    const kymo_line *line;
    uint32_t depth;   /* 0: outermost */
    uint32_t unnamed; /* its number among frames without a name */
} cell;

static void cell_func(kymo_firefox *w, const cell *c)
{
    kymo_json_u64(w->json, c->line ? w->function_of[c->line->function]
                                   : (uint64_t)w->function_count + c->unnamed);
}

static void cell_address(kymo_firefox *w, const cell *c)
{
    put_address(w->json, kymo_firefox_shown_address(c->frame));
}

static void cell_depth(kymo_firefox *w, const cell *c)
{
    kymo_json_u64(w->json, c->depth);
}

static void cell_category(kymo_firefox *w, const cell *c)
{
    kymo_json_u64(w->json, c->frame->category - 1u);
}

static void cell_symbol(kymo_firefox *w, const cell *c)
{
    kymo_json_u64_or_null(w->json, c->frame->symbol, KYMO_NONE);
}

static void cell_line(kymo_firefox *w, const cell *c)
{
    kymo_json_u64_or_null(w->json, c->line ? c->line->line : 0, 0);
}

static void cell_column(kymo_firefox *w, const cell *c)
{
    kymo_json_u64_or_null(w->json, c->line ? c->line->column : 0, 0);
}

static kymo_err frame_column(kymo_firefox *w, const char *name,
                             void (*put)(kymo_firefox *, const cell *))
{
    uint32_t unnamed = 0;
    kymo_json_key_array(w->json, name);
    for (size_t i = 0; i < w->p->frames.len; i++) {
        const kymo_frame *f = &w->p->frames.data[i];
        cell c = {.frame = f, .unnamed = unnamed};
        if (w->frame_same[i] != i)
            continue;
        if (f->line_count == 0) {
            put(w, &c);
            unnamed++;
        }
        for (; c.depth < f->line_count; c.depth++) {
            c.line = &w->p->lines.data[f->first_line + f->line_count - 1 - c.depth];
            put(w, &c);
        }
    }
    return kymo_encoder_step(w->encoder, w->p->frames.len);
}

/* The last row is that of "[no stack]". */
static kymo_err write_frames(kymo_firefox *w)
{
    kymo_json *j = w->json;
    uint32_t count = w->frame_count + (w->lacks_stacks != 0);
    kymo_json_key_object(j, "frameTable");
#define COLUMN(name, put, last)                   \
    do {                                          \
        KYMO_TRY(frame_column(w, (name), (put))); \
        if (w->lacks_stacks)                      \
            last;                                 \
        kymo_json_end_array(j);                   \
    } while (0)
    COLUMN("func", cell_func, kymo_json_u64(j, (uint64_t)w->function_count + w->unnamed_count));
    COLUMN("address", cell_address, kymo_json_i64(j, -1));
    COLUMN("inlineDepth", cell_depth, kymo_json_u64(j, 0));
    COLUMN("category", cell_category, kymo_json_u64(j, KYMO_CATEGORY_OTHER - 1));
    kymo_json_constant_column(j, "subcategory", "0", count);
    COLUMN("nativeSymbol", cell_symbol, kymo_json_null(j));
    kymo_json_constant_column(j, "innerWindowID", "0", count);
    COLUMN("line", cell_line, kymo_json_null(j));
    COLUMN("column", cell_column, kymo_json_null(j));
#undef COLUMN
    kymo_json_constant_column(j, "originalLocation", "null", count);
    kymo_json_end_table(j, count);
    return j->err;
}

/* ---- stacks ---- */

static kymo_err write_stacks(kymo_firefox *w)
{
    kymo_json *j = w->json;
    const uint32_t *frame = w->p->stack_frame.data;
    const uint32_t *parent = w->p->stack_parent.data;
    uint32_t count = (uint32_t)w->p->stack_frame.len;
    kymo_json_key_object(j, "stackTable");
    kymo_json_key_array(j, "frame");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t width = kymo_firefox_frame_width(&w->p->frames.data[frame[i]]);
        for (uint32_t k = 0; k < width; k++)
            kymo_json_u64(j, (uint64_t)w->frame_first[frame[i]] + k);
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    if (w->lacks_stacks)
        kymo_json_u64(j, w->frame_count);
    kymo_json_end_array(j);
    kymo_json_key_array(j, "prefixOffset");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t width = kymo_firefox_frame_width(&w->p->frames.data[frame[i]]);
        uint32_t first = w->stack_last[i] + 1 - width;
        kymo_json_u64(j, parent[i] != KYMO_NONE ? first - w->stack_last[parent[i]] : 0);
        for (uint32_t k = 1; k < width; k++)
            kymo_json_u64(j, 1);
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    if (w->lacks_stacks)
        kymo_json_u64(j, 0);
    kymo_json_end_array(j);
    kymo_json_end_table(j, (uint64_t)w->stack_count + (w->lacks_stacks != 0));
    return j->err;
}

/* ---- all of them ---- */

kymo_err kymo_firefox_put_shared(kymo_firefox *w)
{
    kymo_json_key_object(w->json, "shared");
    write_strings(w);
    KYMO_TRY(kymo_firefox_put_sources(w));
    write_symbols(w);
    write_resources(w);
    write_functions(w);
    KYMO_TRY(write_frames(w));
    KYMO_TRY(write_stacks(w));
    kymo_json_end_object(w->json);
    return w->json->err;
}
