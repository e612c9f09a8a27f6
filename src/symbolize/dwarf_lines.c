/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_lines.c - running line number programs (DWARF 2 to 5).
 *
 * Only address, file and line are kept. Of several rows at one address the last counts. A row equal
 * to the row before is dropped, which halves the table. is_stmt, columns, discriminators and the
 * rest are skipped.
 */
#include "symbolize/dwarf_lines.h"

#include <stdlib.h>

#include "base/search.h"
#include "symbolize/dwarf_constants.h"

#define MAX_FORMATS 16
/* How many sequences with an earlier start are tried if the nearest one ended before the
 * address; in valid files none overlap. */
#define MAX_OVERLAPS 16

typedef struct raw_row {
    uint64_t address;
    uint32_t file;
    uint32_t line;
} raw_row;

typedef struct program {
    kymo_dwarf *dwarf;
    dwarf_unit unit; /* as the header of the program sees it: its version and sizes */
    dwarf_line_table *table;
    KYMO_VEC(raw_row) rows; /* of the sequence being read */
    bool unsorted;
    uint8_t min_instruction;
    uint8_t line_range;
    uint8_t opcode_base;
    int8_t line_base;
    uint8_t operands[256];
    struct {
        uint32_t address;
        int32_t line;
    } special[256]; /* what each special opcode adds */
} program;

void kymo_dwarf_lines_free(dwarf_line_table *table)
{
    if (!table)
        return;
    kymo_vec_deinit(&table->rows);
    kymo_vec_deinit(&table->sequences);
    kymo_vec_deinit(&table->files);
    kymo_vec_deinit(&table->directories);
    free(table);
}

size_t kymo_dwarf_lines_bytes(const dwarf_line_table *table)
{
    return sizeof *table + table->rows.cap * sizeof *table->rows.data +
           table->sequences.cap * sizeof *table->sequences.data +
           table->files.cap * sizeof *table->files.data +
           table->directories.cap * sizeof *table->directories.data;
}

static kymo_err add_file(program *p, const char *name, uint64_t directory)
{
    dwarf_line_file file = {.name = name, .directory = directory};
    return kymo_vec_push(&p->table->files, file);
}

/* Directories and files before DWARF 5: text, ended by empty text; both count from 1. */
static kymo_err read_old_names(program *p, kymo_reader *c, const char *comp_dir)
{
    KYMO_TRY(kymo_vec_push(&p->table->directories, comp_dir));
    for (;;) {
        const char *name = kymo_read_text(c);
        if (c->failed || !*name)
            break;
        KYMO_TRY(kymo_vec_push(&p->table->directories, name));
    }
    KYMO_TRY(add_file(p, NULL, 0));
    for (;;) {
        const char *name = kymo_read_text(c);
        if (c->failed || !*name)
            break;
        uint64_t directory = kymo_read_uleb(c);
        (void)kymo_read_uleb(c); /* time */
        (void)kymo_read_uleb(c); /* size */
        KYMO_TRY(add_file(p, name, directory));
    }
    return KYMO_OK;
}

/* One of the two lists of DWARF 5, whose entries are described by a list of (content, form). */
static kymo_err read_names(program *p, kymo_reader *c, bool directories)
{
    unsigned n_formats = kymo_read_u8(c);
    if (n_formats > MAX_FORMATS)
        kymo_reader_fail(c);
    dwarf_attr_spec formats[MAX_FORMATS];
    for (unsigned i = 0; i < n_formats && !c->failed; i++) {
        uint64_t name = kymo_read_uleb(c), form = kymo_read_uleb(c);
        formats[i] = (dwarf_attr_spec){.name = name > UINT16_MAX ? 0 : (uint16_t)name,
                                       .form = form > UINT16_MAX ? 0 : (uint16_t)form};
    }
    uint64_t n = kymo_read_uleb(c);
    /* Each entry takes at least a byte (implicit forms are not allowed here). */
    if (n > kymo_reader_left(c))
        kymo_reader_fail(c);
    for (uint64_t i = 0; i < n && !c->failed; i++) {
        const char *path = NULL;
        uint64_t directory = 0;
        for (unsigned k = 0; k < n_formats; k++) {
            dwarf_value v;
            kymo_dwarf_read_value(p->dwarf, &p->unit, c, &formats[k], &v);
            if (formats[k].name == DW_LNCT_path)
                path = v.text;
            else if (formats[k].name == DW_LNCT_directory_index)
                directory = v.number;
        }
        if (directories)
            KYMO_TRY(kymo_vec_push(&p->table->directories, path));
        else
            KYMO_TRY(add_file(p, path, directory));
    }
    return KYMO_OK;
}

static int by_address(const void *a, const void *b)
{
    const raw_row *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Closes the sequence whose rows were collected; `end` is one beyond its code. */
static kymo_err end_sequence(program *p, uint64_t end)
{
    dwarf_line_table *t = p->table;
    size_t n = p->rows.len;
    p->rows.len = 0;
    if (n == 0)
        return KYMO_OK;
    if (p->unsorted) /* glibc's qsort merges, so rows of one address keep their order */
        qsort(p->rows.data, n, sizeof(raw_row), by_address);
    p->unsorted = false;
    uint64_t low = p->rows.data[0].address;
    if (end <= low || end - low > UINT32_MAX || low < p->dwarf->code_low ||
        end > p->dwarf->code_high || t->rows.len > UINT32_MAX - n)
        return KYMO_OK;
    size_t first = t->rows.len;
    KYMO_TRY(kymo_vec_reserve(&t->rows, n));
    for (size_t i = 0; i < n; i++) {
        const raw_row *raw = &p->rows.data[i];
        if (i + 1 < n && p->rows.data[i + 1].address == raw->address)
            continue;
        dwarf_row row = {(uint32_t)(raw->address - low), raw->file, raw->line};
        const dwarf_row *last = t->rows.len > first ? &t->rows.data[t->rows.len - 1] : NULL;
        if (raw->address < end && (!last || last->file != row.file || last->line != row.line))
            t->rows.data[t->rows.len++] = row;
    }
    dwarf_sequence s = {low, end, (uint32_t)first, (uint32_t)(t->rows.len - first)};
    return kymo_vec_push(&t->sequences, s);
}

static inline kymo_err add_row(program *p, uint64_t address, uint64_t file, uint64_t line)
{
    if (p->rows.len && address < p->rows.data[p->rows.len - 1].address)
        p->unsorted = true;
    raw_row row = {address, file > UINT32_MAX ? UINT32_MAX : (uint32_t)file,
                   line > UINT32_MAX ? 0 : (uint32_t)line};
    return kymo_vec_push(&p->rows, row);
}

typedef struct registers {
    uint64_t address;
    uint64_t file;
    uint64_t line;
} registers;

static const registers initial = {.file = 1, .line = 1};

static kymo_err run_extended(program *p, kymo_reader *c, registers *r)
{
    uint64_t length = kymo_read_uleb(c);
    if (length == 0 || !kymo_reader_has(c, length))
        return KYMO_OK;
    kymo_reader e = {c->at, c->at + length, false};
    c->at += length;
    switch (kymo_read_u8(&e)) {
    case DW_LNE_end_sequence: {
        kymo_err err = end_sequence(p, r->address);
        *r = initial;
        return err;
    }
    case DW_LNE_set_address:
        r->address = length == 9 || length == 5 ? kymo_read_uint(&e, (unsigned)length - 1) : 0;
        return KYMO_OK;
    case DW_LNE_define_file: {
        const char *name = kymo_read_text(&e);
        return add_file(p, name, kymo_read_uleb(&e));
    }
    default:
        return KYMO_OK;
    }
}

static kymo_err run_standard(program *p, kymo_reader *c, uint8_t opcode, registers *r)
{
    switch (opcode) {
    case DW_LNS_copy:
        return add_row(p, r->address, r->file, r->line);
    case DW_LNS_advance_pc:
        r->address += kymo_read_uleb(c) * p->min_instruction;
        return KYMO_OK;
    case DW_LNS_advance_line:
        r->line += (uint64_t)kymo_read_sleb(c);
        return KYMO_OK;
    case DW_LNS_set_file:
        r->file = kymo_read_uleb(c);
        return KYMO_OK;
    case DW_LNS_const_add_pc:
        r->address += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_instruction;
        return KYMO_OK;
    case DW_LNS_fixed_advance_pc:
        r->address += kymo_read_u16(c);
        return KYMO_OK;
    default:
        for (unsigned i = 0; i < p->operands[opcode]; i++)
            (void)kymo_read_uleb(c);
        return KYMO_OK;
    }
}

static kymo_err run(program *p, kymo_reader *c)
{
    registers r = initial;
    while (!c->failed && kymo_reader_left(c) > 0) {
        uint8_t opcode = kymo_read_u8(c);
        if (opcode >= p->opcode_base) {
            r.address += p->special[opcode].address;
            r.line += (uint64_t)(int64_t)p->special[opcode].line;
            KYMO_TRY(add_row(p, r.address, r.file, r.line));
        } else if (opcode == 0) {
            KYMO_TRY(run_extended(p, c, &r));
        } else {
            KYMO_TRY(run_standard(p, c, opcode, &r));
        }
    }
    return KYMO_OK;
}

static void set_special(program *p)
{
    for (unsigned i = p->opcode_base; i < 256; i++) {
        unsigned special = i - p->opcode_base;
        p->special[i].address = special / p->line_range * p->min_instruction;
        p->special[i].line = p->line_base + (int)(special % p->line_range);
    }
}

/* Reads the header; *c is left at the program. Returns false if it is invalid. */
static bool read_header(program *p, uint64_t offset, kymo_reader *c, kymo_reader *names)
{
    uint64_t begin, end;
    if (!kymo_dwarf_find_unit(p->dwarf, DWARF_LINE, offset, &p->unit.offset_size, &begin, &end) ||
        !kymo_dwarf_part(p->dwarf, DWARF_LINE, begin, end, c))
        return false;
    p->unit.version = (uint8_t)kymo_read_u16(c);
    if (p->unit.version < 2 || p->unit.version > 5)
        return false;
    if (p->unit.version >= 5) {
        p->unit.address_size = kymo_read_u8(c);
        (void)kymo_read_u8(c); /* segment selectors */
    }
    p->unit.usual = false;
    uint64_t header = kymo_read_uint(c, p->unit.offset_size);
    if (c->failed || header > kymo_reader_left(c))
        return false;
    const unsigned char *start = c->at + header;
    p->min_instruction = kymo_read_u8(c);
    if (p->unit.version >= 4)
        (void)kymo_read_u8(c); /* operations per instruction: 1 but for VLIW machines */
    (void)kymo_read_u8(c);     /* is_stmt at start */
    p->line_base = (int8_t)kymo_read_u8(c);
    p->line_range = kymo_read_u8(c);
    p->opcode_base = kymo_read_u8(c);
    if (p->line_range == 0 || p->opcode_base == 0)
        return false;
    for (unsigned i = 1; i < p->opcode_base; i++)
        p->operands[i] = kymo_read_u8(c);
    if (c->failed || c->at > start)
        return false;
    *names = (kymo_reader){c->at, start, false};
    c->at = start;
    return true;
}

static int by_low(const void *a, const void *b)
{
    const dwarf_sequence *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static kymo_err build(program *p, const char *comp_dir, uint64_t offset)
{
    kymo_reader c, names;
    if (!read_header(p, offset, &c, &names))
        return KYMO_OK;
    if (p->unit.version >= 5) {
        KYMO_TRY(read_names(p, &names, true));
        KYMO_TRY(read_names(p, &names, false));
    } else {
        KYMO_TRY(read_old_names(p, &names, comp_dir));
    }
    set_special(p);
    KYMO_TRY(run(p, &c));
    dwarf_line_table *t = p->table;
    if (t->sequences.len > 1)
        qsort(t->sequences.data, t->sequences.len, sizeof *t->sequences.data, by_low);
    return KYMO_OK;
}

kymo_err kymo_dwarf_lines_build(kymo_dwarf *dwarf, dwarf_unit *unit, dwarf_line_table **out)
{
    program p = {.dwarf = dwarf, .unit = *unit, .table = calloc(1, sizeof *p.table)};
    if (!p.table)
        return KYMO_E_NOMEM;
    kymo_err err = unit->has_lines ? build(&p, unit->comp_dir, unit->line_offset) : KYMO_OK;
    kymo_vec_deinit(&p.rows);
    if (err != KYMO_OK) {
        kymo_dwarf_lines_free(p.table);
        return err;
    }
    *out = p.table;
    return KYMO_OK;
}

const dwarf_row *kymo_dwarf_lines_find(const dwarf_line_table *table, uint64_t address)
{
    size_t i = KYMO_COUNT_WHERE(n, table->sequences.len, table->sequences.data[n].low <= address);
    for (int tries = 0; i-- > 0 && tries < MAX_OVERLAPS; tries++) {
        const dwarf_sequence *s = &table->sequences.data[i];
        if (address >= s->high)
            continue;
        const dwarf_row *rows = table->rows.data + s->first_row;
        size_t rows_before = KYMO_COUNT_WHERE(n, s->n_rows, rows[n].offset <= address - s->low);
        return rows_before ? &rows[rows_before - 1] : NULL;
    }
    return NULL;
}

bool kymo_dwarf_lines_path(const dwarf_unit *unit, const dwarf_line_table *table, uint32_t file,
                           kymo_str *out)
{
    const char *name = file < table->files.len ? table->files.data[file].name : NULL;
    if (!name || !*name)
        return false;
    out->len = 0;
    if (name[0] != '/') {
        uint64_t d = table->files.data[file].directory;
        const char *dir = d < table->directories.len ? table->directories.data[d] : NULL;
        /* In DWARF 4 directory 0 is the compilation directory itself. */
        bool compiled_in = !dir || !*dir || dir == unit->comp_dir;
        if ((compiled_in || dir[0] != '/') && unit->comp_dir && *unit->comp_dir) {
            kymo_str_puts(out, unit->comp_dir);
            kymo_str_puts(out, "/");
        }
        if (!compiled_in) {
            kymo_str_puts(out, dir);
            kymo_str_puts(out, "/");
        }
    }
    kymo_str_puts(out, name);
    return !out->failed;
}
