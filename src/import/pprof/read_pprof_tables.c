/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pprof_tables.c - mappings, and locations with their functions: frames.
 *
 * A location that has an address is a frame in its mapping. Many writers leave addresses out, or
 * give one to several locations: these are frames of their lines alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "import/pprof/read_pprof.h"

/* ---- ids ---- */

static kymo_err read_id(struct kymo_pprof_reader *r, struct kymo_pprof_row *row, const char *what)
{
    kymo_reader m = kymo_pprof_open(r, row->message);
    kymo_wire_field f;
    while (kymo_wire_next(&m, &f))
        if (f.number == 1 && f.type == KYMO_WIRE_VARINT)
            row->id = f.value;
    KYMO_TRY(kymo_pprof_ended(r, &m, row->message, what));
    return row->id ? KYMO_OK : kymo_import_fault(r->d, row->message.at, "a %s has no id", what);
}

static kymo_err put_ids(struct kymo_pprof_reader *r, struct kymo_pprof_table *table,
                        const char *what)
{
    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t id = table->rows[i].id;
        if (kymo_key_map_find(&table->map, id))
            return kymo_import_fault(r->d, table->rows[i].message.at, "%s %llu is there twice",
                                     what, (unsigned long long)id);
        KYMO_TRY(kymo_key_map_put(&table->map, id, i));
    }
    return KYMO_OK;
}

kymo_err kymo_pprof_index_table(struct kymo_pprof_reader *r, struct kymo_pprof_table *table,
                                const char *what)
{
    void *room;
    table->is_dense = 1;
    for (uint32_t i = 0; i < table->count; i++) {
        KYMO_TRY(read_id(r, &table->rows[i], what));
        table->is_dense &= table->rows[i].id == i + 1u;
    }
    if (table->is_dense)
        return KYMO_OK;
    /* What the map takes is held against the limit, before it takes it. */
    if ((size_t)table->count * 4 * sizeof(kymo_key_slot) > KYMO_IMPORT_BYTES_MAX / 4)
        return kymo_import_table(r->d, KYMO_IMPORT_BYTES_MAX, 1, &room);
    return put_ids(r, table, what);
}

static struct kymo_pprof_row *find_row(const struct kymo_pprof_table *table, uint64_t id)
{
    if (table->is_dense)
        return id > 0 && id <= table->count ? &table->rows[id - 1] : NULL;
    const uint32_t *at = kymo_key_map_find(&table->map, id);
    return at ? &table->rows[*at] : NULL;
}

/* ---- mappings ---- */

struct mapping {
    uint64_t start, limit, offset;
    uint64_t filename, build_id;
};

static kymo_err read_mapping(struct kymo_pprof_reader *r, struct kymo_pprof_row *row, int is_first)
{
    kymo_reader m = kymo_pprof_open(r, row->message);
    kymo_wire_field f;
    uint64_t values[KYMO_WIRE_MAPPING_BUILD_ID + 1] = {0};
    uint32_t path;
    const char *build_id;
    size_t len;
    while (kymo_wire_next(&m, &f))
        if (f.number <= KYMO_WIRE_MAPPING_BUILD_ID && f.type == KYMO_WIRE_VARINT)
            values[f.number] = f.value;
    KYMO_TRY(kymo_pprof_find_string(r, values[KYMO_WIRE_MAPPING_FILENAME], row->message.at, &path));
    KYMO_TRY(kymo_pprof_find_text(r, values[KYMO_WIRE_MAPPING_BUILD_ID], row->message.at, &build_id,
                                  &len));
    kymo_module module = {.size = sizeof module,
                          .process = r->main_process,
                          .path = path ? kymo_profile_string(r->d->profile, path) : "[unknown]",
                          .is_main = is_first != 0,
                          .start = values[KYMO_WIRE_MAPPING_START],
                          .end = values[KYMO_WIRE_MAPPING_LIMIT],
                          .file_offset = values[KYMO_WIRE_MAPPING_OFFSET],
                          .load_bias =
                              values[KYMO_WIRE_MAPPING_START] - values[KYMO_WIRE_MAPPING_OFFSET]};
    if (module.end < module.start)
        module.end = module.start;
    kymo_import_build_id(&module, build_id, len);
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_module(r->d->profile, &module, &row->made);
}

/* The file's name, or NULL, of the program: the first mapping. */
static kymo_err find_program(struct kymo_pprof_reader *r, const char **name)
{
    kymo_wire_field f;
    uint32_t string;
    uint64_t filename = 0;
    *name = NULL;
    if (r->mappings.count == 0)
        return KYMO_OK;
    kymo_reader m = kymo_pprof_open(r, r->mappings.rows[0].message);
    while (kymo_wire_next(&m, &f))
        if (f.number == KYMO_WIRE_MAPPING_FILENAME && f.type == KYMO_WIRE_VARINT)
            filename = f.value;
    KYMO_TRY(kymo_pprof_find_string(r, filename, r->mappings.rows[0].message.at, &string));
    const char *path = kymo_profile_string(r->d->profile, string);
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    return KYMO_OK;
}

kymo_err kymo_pprof_read_mappings(struct kymo_pprof_reader *r)
{
    const char *program;
    int32_t pid;
    KYMO_TRY(find_program(r, &program));
    KYMO_TRY(kymo_pprof_first_pid(r, &pid));
    KYMO_TRY(
        kymo_import_process(r->d, pid, program && *program ? program : "all", &r->main_process));
    for (uint32_t i = 0; i < r->mappings.count; i++)
        KYMO_TRY(read_mapping(r, &r->mappings.rows[i], i == 0));
    return KYMO_OK;
}

/* ---- functions ---- */

static kymo_err make_function(struct kymo_pprof_reader *r, struct kymo_pprof_row *row,
                              uint32_t module)
{
    kymo_reader m = kymo_pprof_open(r, row->message);
    kymo_wire_field f;
    uint64_t values[KYMO_WIRE_FUNCTION_START_LINE + 1] = {0};
    kymo_function function = {.module = module};
    uint32_t file;
    while (kymo_wire_next(&m, &f))
        if (f.number <= KYMO_WIRE_FUNCTION_START_LINE && f.type == KYMO_WIRE_VARINT)
            values[f.number] = f.value;
    if (!values[KYMO_WIRE_FUNCTION_NAME])
        values[KYMO_WIRE_FUNCTION_NAME] = values[KYMO_WIRE_FUNCTION_SYSTEM_NAME];
    KYMO_TRY(kymo_pprof_find_string(r, values[KYMO_WIRE_FUNCTION_NAME], row->message.at,
                                    &function.name));
    KYMO_TRY(kymo_pprof_find_string(r, values[KYMO_WIRE_FUNCTION_SYSTEM_NAME], row->message.at,
                                    &function.system_name));
    KYMO_TRY(
        kymo_pprof_find_string(r, values[KYMO_WIRE_FUNCTION_FILENAME], row->message.at, &file));
    if (function.name == 0)
        KYMO_TRY(kymo_import_string(r->d, "?", 1, &function.name));
    if (function.system_name == function.name)
        function.system_name = 0;
    if (values[KYMO_WIRE_FUNCTION_START_LINE] <= INT32_MAX)
        function.start_line = (uint32_t)values[KYMO_WIRE_FUNCTION_START_LINE];
    return kymo_import_function(r->d, &function, file, &row->made);
}

static kymo_err find_function(struct kymo_pprof_reader *r, uint64_t id, uint64_t position,
                              uint32_t module, uint32_t *function)
{
    struct kymo_pprof_row *row = find_row(&r->functions, id);
    if (!row)
        return kymo_import_fault(r->d, position, "there is no function %llu",
                                 (unsigned long long)id);
    if (row->made == KYMO_NONE)
        KYMO_TRY(make_function(r, row, module));
    *function = row->made;
    return KYMO_OK;
}

/* ---- locations ---- */

/* A location while it becomes a frame. */
struct location {
    struct kymo_pprof_message message;
    uint64_t address;
    uint32_t module;
    uint32_t line_count;
    kymo_line lines[KYMO_FRAME_LINES_MAX];
};

static kymo_err read_line(struct kymo_pprof_reader *r, kymo_reader line, struct location *to)
{
    kymo_wire_field f;
    uint64_t position = kymo_pprof_place(r, line.at);
    uint64_t values[KYMO_WIRE_LINE_COLUMN + 1] = {0};
    while (kymo_wire_next(&line, &f))
        if (f.number <= KYMO_WIRE_LINE_COLUMN && f.type == KYMO_WIRE_VARINT)
            values[f.number] = f.value;
    if (line.failed)
        return kymo_import_fault(r->d, position, "a line is no valid message");
    if (to->line_count == KYMO_FRAME_LINES_MAX)
        return kymo_import_unsupported(r->d, position,
                                       "more than %u functions are inlined into one location",
                                       KYMO_FRAME_LINES_MAX);
    kymo_line *out = &to->lines[to->line_count];
    KYMO_TRY(
        find_function(r, values[KYMO_WIRE_LINE_FUNCTION], position, to->module, &out->function));
    out->line =
        values[KYMO_WIRE_LINE_LINE] <= INT32_MAX ? (uint32_t)values[KYMO_WIRE_LINE_LINE] : 0;
    out->column =
        values[KYMO_WIRE_LINE_COLUMN] <= INT32_MAX ? (uint32_t)values[KYMO_WIRE_LINE_COLUMN] : 0;
    to->line_count++;
    return KYMO_OK;
}

/* The mapping comes first: the functions are in it. */
static kymo_err read_place(struct kymo_pprof_reader *r, struct location *to)
{
    kymo_reader m = kymo_pprof_open(r, to->message);
    kymo_wire_field f;
    uint64_t mapping = 0;
    while (kymo_wire_next(&m, &f)) {
        if (f.number == KYMO_WIRE_LOCATION_MAPPING && f.type == KYMO_WIRE_VARINT)
            mapping = f.value;
        if (f.number == KYMO_WIRE_LOCATION_ADDRESS && f.type == KYMO_WIRE_VARINT)
            to->address = f.value;
    }
    to->module = KYMO_NONE;
    if (mapping == 0)
        return KYMO_OK;
    const struct kymo_pprof_row *row = find_row(&r->mappings, mapping);
    if (!row)
        return kymo_import_fault(r->d, to->message.at, "there is no mapping %llu",
                                 (unsigned long long)mapping);
    to->module = row->made;
    return KYMO_OK;
}

static kymo_err read_lines(struct kymo_pprof_reader *r, struct location *to)
{
    kymo_reader m = kymo_pprof_open(r, to->message);
    kymo_wire_field f;
    while (kymo_wire_next(&m, &f))
        if (f.number == KYMO_WIRE_LOCATION_LINE && f.type == KYMO_WIRE_BYTES)
            KYMO_TRY(read_line(r, f.bytes, to));
    return KYMO_OK;
}

/* What a location shows that has neither a function nor an address. */
static kymo_err add_unknown(struct kymo_pprof_reader *r, struct location *to)
{
    const kymo_module *m = kymo_profile_module(r->d->profile, to->module);
    char text[KYMO_STRING_MAX];
    kymo_function function = {.module = to->module};
    snprintf(text, sizeof text, "[%s]", m ? m->name : "unknown");
    KYMO_TRY(kymo_import_string(r->d, text, strlen(text), &function.name));
    KYMO_TRY(kymo_import_function(r->d, &function, 0, &to->lines[0].function));
    to->lines[0].line = to->lines[0].column = 0;
    to->line_count = 1;
    return KYMO_OK;
}

static kymo_category category_of(const struct kymo_pprof_reader *r, const struct location *from)
{
    const kymo_module *m = kymo_profile_module(r->d->profile, from->module);
    return m ? (kymo_category)m->category : KYMO_CATEGORY_OTHER;
}

/* Another location of the same address has made the frame, with other lines. */
static int is_shared(const kymo_profile *p, uint32_t frame, const struct location *from)
{
    uint32_t count;
    const kymo_line *lines = kymo_profile_frame_lines(p, frame, &count);
    return count > 0 &&
           (count != from->line_count || memcmp(lines, from->lines, count * sizeof *lines) != 0);
}

static kymo_err add_frame(struct kymo_pprof_reader *r, struct location *from, uint32_t *frame)
{
    kymo_profile *p = r->d->profile;
    const kymo_module *m = kymo_profile_module(p, from->module);
    uint64_t address = from->address - (m ? m->load_bias : 0);
    KYMO_TRY(kymo_import_check_room(r->d));
    if (from->address != 0 && address != KYMO_NO_ADDRESS) {
        kymo_category category =
            m || from->line_count == 0 ? KYMO_CATEGORY_AUTO : KYMO_CATEGORY_OTHER;
        KYMO_TRY(kymo_profile_add_frame(p, from->module, address, category, frame));
        if (from->line_count == 0)
            return KYMO_OK;
        if (!is_shared(p, *frame, from))
            return kymo_profile_frame_set_lines(p, *frame, from->lines, from->line_count, KYMO_NONE,
                                                1);
    }
    if (from->line_count == 0)
        KYMO_TRY(add_unknown(r, from));
    return kymo_profile_add_lines_frame(p, from->lines, from->line_count, category_of(r, from),
                                        frame);
}

kymo_err kymo_pprof_find_frame(struct kymo_pprof_reader *r, uint64_t id, uint64_t position,
                               uint32_t *frame)
{
    struct kymo_pprof_row *row = find_row(&r->locations, id);
    struct location location;
    if (!row)
        return kymo_import_fault(r->d, position, "there is no location %llu",
                                 (unsigned long long)id);
    if (row->made == KYMO_NONE) {
        location.message = row->message;
        location.address = 0;
        location.line_count = 0;
        KYMO_TRY(read_place(r, &location));
        KYMO_TRY(read_lines(r, &location));
        KYMO_TRY(add_frame(r, &location, &row->made));
    }
    *frame = row->made;
    return KYMO_OK;
}
