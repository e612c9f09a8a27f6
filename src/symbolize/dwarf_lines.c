/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_lines.c - running line number programs (DWARF 2 to 5).
 *
 * Only address, file and line are kept, and only of the addresses that are asked for: a unit has
 * thousands of rows, of which a profile needs ten. The rows of a sequence are in memory until its
 * end. Of several rows at one address the last counts. is_stmt, columns, discriminators and the
 * rest are skipped.
 */
#include "symbolize/dwarf_lines.h"

#include <stdlib.h>

#include "base/search.h"
#include "symbolize/dwarf_constants.h"

#define MAX_FORMATS 16
/* Sequences that have one address: in valid files one. */
#define MAX_OVERLAPS 16

typedef struct raw_row {
    uint64_t address;
    uint32_t file;
    uint32_t line;
} raw_row;

typedef struct program {
    kymo_dwarf *dwarf;
    dwarf_unit unit; /* as the header of the program sees it: its version and sizes */
    const dwarf_asked *asked;
    dwarf_line_table *table;
    KYMO_VEC(raw_row) rows; /* of the sequence being read */
    uint64_t last_address;
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
    kymo_vec_deinit(&table->files);
    kymo_vec_deinit(&table->directories);
    free(table);
}

size_t kymo_dwarf_lines_bytes(const dwarf_line_table *table)
{
    return sizeof *table + table->rows.cap * sizeof *table->rows.data +
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
    raw_row *rows = p->rows.data;
    size_t n = p->rows.len;
    p->rows.len = 0;
    if (n == 0)
        return KYMO_OK;
    if (p->unsorted) /* glibc's qsort merges, so rows of one address keep their order */
        qsort(rows, n, sizeof *rows, by_address);
    p->unsorted = false;
    p->last_address = 0;
    uint64_t low = rows[0].address;
    if (low < p->dwarf->code_low || end > p->dwarf->code_high)
        return KYMO_OK;
    const dwarf_asked *asked = p->asked;
    for (size_t i = kymo_dwarf_asked_from(asked, low), next = 0;
         i < asked->n && asked->addresses[i] < end; i++) {
        uint64_t address = asked->addresses[i];
        if (p->table->rows.len / MAX_OVERLAPS >= asked->n)
            return KYMO_OK;
        next += KYMO_COUNT_WHERE(k, n - next, rows[next + k].address <= address);
        const raw_row *raw = &rows[next - 1];
        KYMO_TRY(kymo_vec_push(&p->table->rows, (dwarf_row){address, low, raw->file, raw->line}));
    }
    return KYMO_OK;
}

typedef struct registers {
    uint64_t address;
    uint64_t file;
    uint64_t line;
} registers;

static const registers initial = {.file = 1, .line = 1};

static inline kymo_err add_row(program *p, const registers *r)
{
    p->unsorted |= r->address < p->last_address;
    p->last_address = r->address;
    raw_row row = {r->address, r->file > UINT32_MAX ? UINT32_MAX : (uint32_t)r->file,
                   r->line > UINT32_MAX ? 0 : (uint32_t)r->line};
    return kymo_vec_push(&p->rows, row);
}

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
        return add_row(p, r);
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
    while (!c->failed && c->at < c->end) {
        uint8_t opcode = *c->at++;
        if (opcode >= p->opcode_base) {
            r.address += p->special[opcode].address;
            r.line += (uint64_t)(int64_t)p->special[opcode].line;
            KYMO_TRY(add_row(p, &r));
        } else if (opcode == DW_LNS_set_column) { /* the most frequent one, of no use */
            (void)kymo_read_uleb(c);
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

static int by_place(const void *a, const void *b)
{
    const dwarf_row *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
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
    if (p->table->rows.len > 1) /* merges, too: the last of equal ones counts */
        qsort(p->table->rows.data, p->table->rows.len, sizeof *p->table->rows.data, by_place);
    return KYMO_OK;
}

kymo_err kymo_dwarf_lines_build(kymo_dwarf *dwarf, dwarf_unit *unit, const dwarf_asked *asked,
                                dwarf_line_table **out)
{
    program p = {
        .dwarf = dwarf, .unit = *unit, .asked = asked, .table = calloc(1, sizeof *p.table)};
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
    size_t n = KYMO_COUNT_WHERE(i, table->rows.len, table->rows.data[i].address <= address);
    return n && table->rows.data[n - 1].address == address ? &table->rows.data[n - 1] : NULL;
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
