/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_file.c - sections, unit headers and roots.
 *
 * Why not libdw: it decompresses all debug sections when a file is opened. Walking the entries and
 * lines of python3.11's debug file takes it 0.55 s and 66 MB (this code: 0.33 s and 31 MB,
 * including symbols and names, on the same busy machine). Its look-ups cost a millisecond each, and
 * we cannot fix its handling of damaged files. What must be written for this is small: units,
 * abbreviations, some forty forms.
 */
#include "symbolize/dwarf_file.h"

#include <stdlib.h>

#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_functions.h"
#include "symbolize/dwarf_lines.h"

#define MAX_UNITS (1u << 24)
/* Of the length at the start of a unit, in the 64-bit format. */
#define LENGTH_BYTES 12u
/* What follows it in the longest header. */
#define HEADER_BYTES 32u
/* Entries of units and functions are mostly shorter. */
#define ENTRY_BYTES 512u

static const char *const section_names[DWARF_SECTION_COUNT] = {
    [DWARF_INFO] = ".debug_info",
    [DWARF_ABBREV] = ".debug_abbrev",
    [DWARF_STR] = ".debug_str",
    [DWARF_LINE] = ".debug_line",
    [DWARF_LINE_STR] = ".debug_line_str",
    [DWARF_RANGES] = ".debug_ranges",
    [DWARF_RNGLISTS] = ".debug_rnglists",
    [DWARF_ADDR] = ".debug_addr",
    [DWARF_STR_OFFSETS] = ".debug_str_offsets",
    [DWARF_ARANGES] = ".debug_aranges",
};

/* KYMO_E_NOT_FOUND: there is none, or it could not be opened before. */
static kymo_err open_section(kymo_dwarf *dwarf, dwarf_section which)
{
    kymo_span nothing;
    if (dwarf->tried[which])
        return dwarf->opened[which] ? KYMO_OK : KYMO_E_NOT_FOUND;
    dwarf->tried[which] = true;
    kymo_elf_section *found = kymo_elf_find(dwarf->elf, section_names[which]);
    if (!found)
        return KYMO_E_NOT_FOUND;
    KYMO_TRY(kymo_elf_load_begin(dwarf->elf, found, &nothing));
    dwarf->opened[which] = found;
    return KYMO_OK;
}

kymo_span kymo_dwarf_section(kymo_dwarf *dwarf, dwarf_section which)
{
    bool is_new = !dwarf->tried[which];
    if (open_section(dwarf, which) == KYMO_OK && is_new) {
        kymo_err err =
            kymo_elf_load_to(dwarf->elf, dwarf->opened[which], UINT64_MAX, &dwarf->sections[which]);
        (void)err; /* of a damaged section, use what came before the damage */
    }
    return dwarf->sections[which];
}

bool kymo_dwarf_part(kymo_dwarf *dwarf, dwarf_section which, uint64_t begin, uint64_t end,
                     kymo_reader *out)
{
    if (open_section(dwarf, which) != KYMO_OK ||
        kymo_elf_load_part(dwarf->elf, dwarf->opened[which], begin, end) != KYMO_OK)
        return false;
    dwarf->sections[which] = kymo_elf_extent(dwarf->opened[which]);
    *out = kymo_reader_part(dwarf->sections[which].data, end, begin, end);
    return true;
}

void kymo_dwarf_release_section(kymo_dwarf *dwarf, dwarf_section which)
{
    if (dwarf->opened[which])
        kymo_elf_unload(dwarf->opened[which]);
    dwarf->opened[which] = NULL;
    dwarf->sections[which] = (kymo_span){0};
    dwarf->tried[which] = false;
}

bool kymo_dwarf_find_unit(kymo_dwarf *dwarf, dwarf_section which, uint64_t offset,
                          uint8_t *offset_size, uint64_t *begin, uint64_t *end)
{
    kymo_reader c;
    *offset_size = 4;
    if (offset > UINT64_MAX - LENGTH_BYTES ||
        !kymo_dwarf_part(dwarf, which, offset, offset + 4, &c))
        return false;
    uint64_t length = kymo_read_u32(&c);
    *begin = offset + 4;
    if (length == 0xffffffffu) {
        *offset_size = 8;
        if (!kymo_dwarf_part(dwarf, which, offset + 4, offset + LENGTH_BYTES, &c))
            return false;
        length = kymo_read_u64(&c);
        *begin = offset + LENGTH_BYTES;
    } else if (length >= 0xfffffff0u) {
        return false;
    }
    *end = *begin + length;
    return length <= dwarf->sections[which].size - *begin;
}

kymo_reader kymo_dwarf_unit_bytes(kymo_dwarf *dwarf, dwarf_unit *unit, uint64_t begin)
{
    kymo_reader all;
    if (!unit->is_loaded)
        unit->is_loaded = kymo_dwarf_part(dwarf, DWARF_INFO, unit->offset, unit->end, &all);
    return unit->is_loaded
               ? kymo_reader_part(dwarf->sections[DWARF_INFO].data, unit->end, begin, unit->end)
               : (kymo_reader){.failed = true};
}

kymo_reader kymo_dwarf_entry_bytes(kymo_dwarf *dwarf, dwarf_unit *unit, uint64_t entry)
{
    kymo_reader c;
    if (unit->is_loaded || unit->end - entry <= ENTRY_BYTES ||
        !kymo_dwarf_part(dwarf, DWARF_INFO, entry, entry + ENTRY_BYTES, &c))
        return kymo_dwarf_unit_bytes(dwarf, unit, entry);
    return c;
}

/* Reads one header. Returns false if no unit can follow. */
static bool read_header(kymo_dwarf *dwarf, uint64_t offset, dwarf_unit *unit, bool *usable)
{
    uint64_t begin, end;
    kymo_reader h;
    *unit = (dwarf_unit){.offset = offset, .type = DW_UT_compile};
    if (!kymo_dwarf_find_unit(dwarf, DWARF_INFO, offset, &unit->offset_size, &begin, &end) ||
        !kymo_dwarf_part(dwarf, DWARF_INFO, begin,
                         end - begin < HEADER_BYTES ? end : begin + HEADER_BYTES, &h))
        return false;
    unit->end = end;
    *usable = false;
    unit->version = (uint8_t)kymo_read_u16(&h);
    if (unit->version < 2 || unit->version > 5)
        return true;
    if (unit->version >= 5) {
        unit->type = kymo_read_u8(&h);
        unit->address_size = kymo_read_u8(&h);
        unit->abbrev_offset = kymo_read_uint(&h, unit->offset_size);
        if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
            kymo_reader_skip(&h, 8);
        else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
            kymo_reader_skip(&h, 8 + (uint64_t)unit->offset_size);
    } else {
        unit->abbrev_offset = kymo_read_uint(&h, unit->offset_size);
        unit->address_size = kymo_read_u8(&h);
    }
    unit->first_die = (uint64_t)(h.at - dwarf->sections[DWARF_INFO].data);
    unit->usual = unit->address_size == 8 && unit->offset_size == 4 && unit->version >= 3;
    *usable = !h.failed && (unit->address_size == 8 || unit->address_size == 4);
    return true;
}

static kymo_err read_next_unit(kymo_dwarf *dwarf)
{
    dwarf_unit unit;
    bool usable;
    if (dwarf->units.len >= MAX_UNITS || !read_header(dwarf, dwarf->next_unit, &unit, &usable)) {
        dwarf->has_all_units = true;
        return KYMO_OK;
    }
    if (usable) {
        dwarf_unit *kept = kymo_arena_alloc(&dwarf->unit_memory, sizeof unit, _Alignof(dwarf_unit));
        if (!kept)
            return KYMO_E_NOMEM;
        *kept = unit;
        KYMO_TRY(kymo_vec_push(&dwarf->units, kept));
    }
    dwarf->next_unit = unit.end;
    return KYMO_OK;
}

kymo_err kymo_dwarf_read_units(kymo_dwarf *dwarf, uint64_t offset)
{
    while (!dwarf->has_all_units && dwarf->next_unit <= offset)
        KYMO_TRY(read_next_unit(dwarf));
    return KYMO_OK;
}

static void find_code(kymo_dwarf *dwarf)
{
    const kymo_elf_file *elf = dwarf->elf;
    dwarf->code_low = UINT64_MAX;
    for (size_t i = 1; i < elf->n_sections; i++) {
        const kymo_elf_section *s = &elf->sections[i];
        if (!(s->flags & SHF_EXECINSTR) || s->size > UINT64_MAX - s->address)
            continue;
        if (s->address < dwarf->code_low)
            dwarf->code_low = s->address;
        if (s->address + s->size > dwarf->code_high)
            dwarf->code_high = s->address + s->size;
    }
}

kymo_err kymo_dwarf_open(kymo_elf_file *elf, kymo_dwarf **out)
{
    kymo_dwarf *dwarf = calloc(1, sizeof *dwarf);
    if (!dwarf)
        return KYMO_E_NOMEM;
    dwarf->elf = elf;
    kymo_err err = open_section(dwarf, DWARF_INFO);
    find_code(dwarf);
    while (err == KYMO_OK && dwarf->units.len == 0)
        err = dwarf->has_all_units ? KYMO_E_CORRUPT : read_next_unit(dwarf);
    if (err != KYMO_OK)
        kymo_dwarf_close(dwarf);
    else
        *out = dwarf;
    return err;
}

void kymo_dwarf_close(kymo_dwarf *dwarf)
{
    if (!dwarf)
        return;
    for (size_t i = 0; i < dwarf->units.len; i++) {
        kymo_dwarf_functions_free(dwarf->units.data[i]->functions);
        kymo_dwarf_lines_free(dwarf->units.data[i]->lines);
    }
    kymo_vec_deinit(&dwarf->units);
    kymo_arena_deinit(&dwarf->unit_memory);
    for (size_t i = 0; i < dwarf->abbrevs.len; i++)
        kymo_dwarf_abbrevs_free(dwarf->abbrevs.data[i]);
    kymo_vec_deinit(&dwarf->abbrevs);
    free(dwarf);
}

dwarf_unit *kymo_dwarf_unit_at(kymo_dwarf *dwarf, uint64_t offset)
{
    if (kymo_dwarf_read_units(dwarf, offset) != KYMO_OK)
        return NULL;
    dwarf_unit *const *units = dwarf->units.data;
    size_t n = KYMO_COUNT_WHERE(i, dwarf->units.len, units[i]->offset <= offset);
    return n && offset < units[n - 1]->end ? units[n - 1] : NULL;
}

/* The bases first: values that are indices need them, and they may come later in the entry. */
static void read_bases(kymo_dwarf *dwarf, dwarf_unit *unit, kymo_reader c,
                       const dwarf_abbrev *abbrev)
{
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    /* Without a base the tables begin after their header. */
    uint64_t header = unit->offset_size == 8 ? 16 : 8;
    unit->str_offsets_base = unit->version >= 5 ? header : 0;
    unit->addr_base = unit->version >= 5 ? header : 0;
    unit->rnglists_base = unit->offset_size == 8 ? 20 : 12;
    for (unsigned i = 0; i < abbrev->count && !c.failed; i++) {
        dwarf_value v;
        kymo_dwarf_read_value(dwarf, unit, &c, &specs[i], &v);
        switch (specs[i].name) {
        case DW_AT_str_offsets_base:
            unit->str_offsets_base = v.number;
            break;
        case DW_AT_addr_base:
        case DW_AT_GNU_addr_base:
            unit->addr_base = v.number;
            break;
        case DW_AT_rnglists_base:
            unit->rnglists_base = v.number;
            break;
        default:
            break;
        }
    }
}

static kymo_err parse_root(kymo_dwarf *dwarf, dwarf_unit *unit, kymo_reader c)
{
    const dwarf_abbrev *abbrev = kymo_dwarf_abbrev(unit, kymo_read_uleb(&c));
    if (c.failed || !abbrev)
        return KYMO_E_CORRUPT;
    unit->tag = abbrev->tag;
    read_bases(dwarf, unit, c, abbrev);
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    for (unsigned i = 0; i < abbrev->count && !c.failed; i++) {
        dwarf_value v;
        kymo_dwarf_read_value(dwarf, unit, &c, &specs[i], &v);
        switch (specs[i].name) {
        case DW_AT_name:
            unit->name = v.text;
            break;
        case DW_AT_comp_dir:
            unit->comp_dir = v.text;
            break;
        case DW_AT_stmt_list:
            unit->has_lines = v.kind == DWARF_NUMBER || v.kind == DWARF_OFFSET;
            unit->line_offset = v.number;
            break;
        case DW_AT_low_pc:
            (void)kymo_dwarf_resolve_address(dwarf, unit, &v, &unit->low_pc);
            break;
        default:
            break;
        }
    }
    return c.failed ? KYMO_E_CORRUPT : KYMO_OK;
}

kymo_err kymo_dwarf_read_root(kymo_dwarf *dwarf, dwarf_unit *unit)
{
    if (unit->root_read)
        return unit->damaged ? KYMO_E_CORRUPT : KYMO_OK;
    unit->damaged = true;
    kymo_err err = kymo_dwarf_abbrevs_get(dwarf, unit->abbrev_offset, &unit->abbrevs);
    if (err == KYMO_E_NOMEM)
        return err;
    unit->root_read = true;
    if (err != KYMO_OK)
        return KYMO_E_CORRUPT;
    err = parse_root(dwarf, unit, kymo_dwarf_entry_bytes(dwarf, unit, unit->first_die));
    if (err != KYMO_OK && !unit->is_loaded) /* it is longer than that */
        err = parse_root(dwarf, unit, kymo_dwarf_unit_bytes(dwarf, unit, unit->first_die));
    unit->damaged = err != KYMO_OK;
    return err;
}

kymo_err kymo_dwarf_root_ranges(kymo_dwarf *dwarf, dwarf_unit *unit, uint64_t *budget,
                                dwarf_range_vec *out)
{
    KYMO_TRY(kymo_dwarf_read_root(dwarf, unit));
    kymo_reader c = kymo_dwarf_entry_bytes(dwarf, unit, unit->first_die);
    const dwarf_abbrev *abbrev = kymo_dwarf_abbrev(unit, kymo_read_uleb(&c));
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    dwarf_extent extent = {0};
    for (unsigned i = 0; i < abbrev->count; i++)
        if (!kymo_dwarf_extent_take(dwarf, unit, &c, &specs[i], &extent))
            kymo_dwarf_skip_value(unit, &c, &specs[i]);
    return kymo_dwarf_read_extent(dwarf, unit, &extent, budget, out);
}
