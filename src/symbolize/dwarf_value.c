/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_value.c - attribute values by their forms, and the address ranges that they describe.
 */
#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_file.h"

static const char *text_at(kymo_dwarf *dwarf, dwarf_section which, uint64_t offset)
{
    if (!dwarf)
        return NULL;
    kymo_span s = kymo_dwarf_section(dwarf, which);
    /* kymo_elf_load put a NUL behind the section. */
    return offset < s.size ? (const char *)s.data + offset : NULL;
}

static const char *indexed_text(kymo_dwarf *dwarf, const dwarf_unit *unit, uint64_t index)
{
    kymo_span s = kymo_dwarf_section(dwarf, DWARF_STR_OFFSETS);
    if (index > s.size)
        return NULL;
    kymo_reader c = kymo_reader_part(s.data, s.size,
                                     unit->str_offsets_base + index * unit->offset_size, s.size);
    uint64_t offset = kymo_read_uint(&c, unit->offset_size);
    return c.failed ? NULL : text_at(dwarf, DWARF_STR, offset);
}

void kymo_dwarf_skip_value(const dwarf_unit *unit, kymo_reader *c, const dwarf_attr_spec *spec)
{
    uint64_t form = spec->form;
    for (int indirect = 0; indirect < 2; indirect++) {
        switch (form) {
        case DW_FORM_flag_present:
        case DW_FORM_implicit_const:
            return;
        case DW_FORM_data1:
        case DW_FORM_ref1:
        case DW_FORM_flag:
        case DW_FORM_strx1:
        case DW_FORM_addrx1:
            kymo_reader_skip(c, 1);
            return;
        case DW_FORM_data2:
        case DW_FORM_ref2:
        case DW_FORM_strx2:
        case DW_FORM_addrx2:
            kymo_reader_skip(c, 2);
            return;
        case DW_FORM_strx3:
        case DW_FORM_addrx3:
            kymo_reader_skip(c, 3);
            return;
        case DW_FORM_data4:
        case DW_FORM_ref4:
        case DW_FORM_ref_sup4:
        case DW_FORM_strx4:
        case DW_FORM_addrx4:
            kymo_reader_skip(c, 4);
            return;
        case DW_FORM_data8:
        case DW_FORM_ref8:
        case DW_FORM_ref_sig8:
        case DW_FORM_ref_sup8:
            kymo_reader_skip(c, 8);
            return;
        case DW_FORM_data16:
            kymo_reader_skip(c, 16);
            return;
        case DW_FORM_addr:
            kymo_reader_skip(c, unit->address_size);
            return;
        case DW_FORM_ref_addr:
            kymo_reader_skip(c, unit->version == 2 ? unit->address_size : unit->offset_size);
            return;
        case DW_FORM_strp:
        case DW_FORM_line_strp:
        case DW_FORM_strp_sup:
        case DW_FORM_sec_offset:
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_GNU_strp_alt:
            kymo_reader_skip(c, unit->offset_size);
            return;
        case DW_FORM_string:
            (void)kymo_read_text(c);
            return;
        case DW_FORM_block:
        case DW_FORM_exprloc:
            kymo_reader_skip(c, kymo_read_uleb(c));
            return;
        case DW_FORM_block1:
            kymo_reader_skip(c, kymo_read_u8(c));
            return;
        case DW_FORM_block2:
            kymo_reader_skip(c, kymo_read_u16(c));
            return;
        case DW_FORM_block4:
            kymo_reader_skip(c, kymo_read_u32(c));
            return;
        case DW_FORM_sdata:
        case DW_FORM_udata:
        case DW_FORM_ref_udata:
        case DW_FORM_strx:
        case DW_FORM_addrx:
        case DW_FORM_loclistx:
        case DW_FORM_rnglistx:
        case DW_FORM_GNU_addr_index:
        case DW_FORM_GNU_str_index:
            (void)kymo_read_uleb(c);
            return;
        case DW_FORM_indirect:
            form = kymo_read_uleb(c);
            continue;
        default:
            break;
        }
        break;
    }
    /* A form of unknown length: nothing behind it can be read. */
    kymo_reader_fail(c);
}

static void read_number(dwarf_value *out, uint64_t number)
{
    out->kind = DWARF_NUMBER;
    out->number = number;
}

static void read_reference(const dwarf_unit *unit, dwarf_value *out, uint64_t offset)
{
    out->kind = DWARF_REFERENCE;
    out->number = unit->offset + offset;
}

static void read_text(dwarf_value *out, const char *text)
{
    out->kind = text ? DWARF_TEXT : DWARF_NOTHING;
    out->text = text;
}

static void read_address_index(dwarf_value *out, uint64_t index)
{
    out->kind = DWARF_ADDRESS_INDEX;
    out->number = index;
}

static void read_form(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader *c, unsigned form,
                      const dwarf_attr_spec *spec, dwarf_value *out)
{
    unsigned width = unit->offset_size;
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_flag:
        return read_number(out, kymo_read_u8(c));
    case DW_FORM_data2:
        return read_number(out, kymo_read_u16(c));
    case DW_FORM_data4:
        return read_number(out, kymo_read_u32(c));
    case DW_FORM_data8:
        return read_number(out, kymo_read_u64(c));
    case DW_FORM_udata:
        return read_number(out, kymo_read_uleb(c));
    case DW_FORM_sdata:
        return read_number(out, (uint64_t)kymo_read_sleb(c));
    case DW_FORM_implicit_const:
        return read_number(out, (uint64_t)spec->implicit);
    case DW_FORM_flag_present:
        return read_number(out, 1);
    case DW_FORM_addr:
        out->kind = DWARF_ADDRESS;
        out->number = kymo_read_uint(c, unit->address_size);
        return;
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        return read_address_index(out, kymo_read_uleb(c));
    case DW_FORM_addrx1:
        return read_address_index(out, kymo_read_u8(c));
    case DW_FORM_addrx2:
        return read_address_index(out, kymo_read_u16(c));
    case DW_FORM_addrx3:
        return read_address_index(out, kymo_read_uint(c, 3));
    case DW_FORM_addrx4:
        return read_address_index(out, kymo_read_u32(c));
    case DW_FORM_string:
        return read_text(out, kymo_read_text(c));
    case DW_FORM_strp:
        return read_text(out, text_at(dwarf, DWARF_STR, kymo_read_uint(c, width)));
    case DW_FORM_line_strp:
        return read_text(out, text_at(dwarf, DWARF_LINE_STR, kymo_read_uint(c, width)));
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return read_text(out, text_at(dwarf->alt, DWARF_STR, kymo_read_uint(c, width)));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
        return read_text(out, indexed_text(dwarf, unit, kymo_read_uleb(c)));
    case DW_FORM_strx1:
        return read_text(out, indexed_text(dwarf, unit, kymo_read_u8(c)));
    case DW_FORM_strx2:
        return read_text(out, indexed_text(dwarf, unit, kymo_read_u16(c)));
    case DW_FORM_strx3:
        return read_text(out, indexed_text(dwarf, unit, kymo_read_uint(c, 3)));
    case DW_FORM_strx4:
        return read_text(out, indexed_text(dwarf, unit, kymo_read_u32(c)));
    case DW_FORM_ref1:
        return read_reference(unit, out, kymo_read_u8(c));
    case DW_FORM_ref2:
        return read_reference(unit, out, kymo_read_u16(c));
    case DW_FORM_ref4:
        return read_reference(unit, out, kymo_read_u32(c));
    case DW_FORM_ref8:
        return read_reference(unit, out, kymo_read_u64(c));
    case DW_FORM_ref_udata:
        return read_reference(unit, out, kymo_read_uleb(c));
    case DW_FORM_ref_addr:
        out->kind = DWARF_REFERENCE;
        out->number = kymo_read_uint(c, unit->version == 2 ? unit->address_size : width);
        return;
    case DW_FORM_GNU_ref_alt:
        out->kind = DWARF_REFERENCE_ALT;
        out->number = kymo_read_uint(c, width);
        return;
    case DW_FORM_ref_sup4:
        out->kind = DWARF_REFERENCE_ALT;
        out->number = kymo_read_u32(c);
        return;
    case DW_FORM_ref_sup8:
        out->kind = DWARF_REFERENCE_ALT;
        out->number = kymo_read_u64(c);
        return;
    case DW_FORM_sec_offset:
        out->kind = DWARF_OFFSET;
        out->number = kymo_read_uint(c, width);
        return;
    case DW_FORM_rnglistx:
        out->kind = DWARF_LIST_INDEX;
        out->number = kymo_read_uleb(c);
        return;
    default:
        kymo_dwarf_skip_value(unit, c, &(dwarf_attr_spec){.form = (uint16_t)form});
    }
}

void kymo_dwarf_read_value(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader *c,
                           const dwarf_attr_spec *spec, dwarf_value *out)
{
    *out = (dwarf_value){.kind = DWARF_NOTHING};
    uint64_t form = spec->form;
    if (form == DW_FORM_indirect) {
        form = kymo_read_uleb(c);
        if (form > UINT16_MAX || form == DW_FORM_indirect)
            form = 0; /* unknown: ends the entry */
    }
    read_form(dwarf, unit, c, (unsigned)form, spec, out);
}

static bool indexed_address(kymo_dwarf *dwarf, const dwarf_unit *unit, uint64_t index,
                            uint64_t *out)
{
    kymo_span s = kymo_dwarf_section(dwarf, DWARF_ADDR);
    if (index > s.size)
        return false;
    kymo_reader c =
        kymo_reader_part(s.data, s.size, unit->addr_base + index * unit->address_size, s.size);
    uint64_t address = kymo_read_uint(&c, unit->address_size);
    if (c.failed)
        return false;
    *out = address;
    return true;
}

bool kymo_dwarf_resolve_address(kymo_dwarf *dwarf, const dwarf_unit *unit, const dwarf_value *value,
                                uint64_t *out)
{
    if (value->kind == DWARF_ADDRESS) {
        *out = value->number;
        return true;
    }
    return value->kind == DWARF_ADDRESS_INDEX && indexed_address(dwarf, unit, value->number, out);
}

bool kymo_dwarf_extent_take(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader *c,
                            const dwarf_attr_spec *spec, dwarf_extent *extent)
{
    switch (spec->name) {
    case DW_AT_low_pc:
        kymo_dwarf_read_value(dwarf, unit, c, spec, &extent->low);
        extent->has |= 1;
        return true;
    case DW_AT_high_pc:
        kymo_dwarf_read_value(dwarf, unit, c, spec, &extent->high);
        extent->has |= 2;
        return true;
    case DW_AT_ranges:
        kymo_dwarf_read_value(dwarf, unit, c, spec, &extent->ranges);
        extent->has |= 4;
        return true;
    default:
        return false;
    }
}

/* A range outside of all code belongs to a function that the linker threw away: its address was
 * set to 0, 1 or -1, to which offsets may have been added. */
static kymo_err add_range(const kymo_dwarf *dwarf, uint64_t low, uint64_t high,
                          dwarf_range_vec *out)
{
    if (high <= low || low < dwarf->code_low || high > dwarf->code_high)
        return KYMO_OK;
    return kymo_vec_push(out, (dwarf_range){low, high});
}

/* .debug_ranges, before DWARF 5. */
static kymo_err read_old_list(kymo_dwarf *dwarf, const dwarf_unit *unit, uint64_t offset,
                              uint64_t *budget, dwarf_range_vec *out)
{
    kymo_span s = kymo_dwarf_section(dwarf, DWARF_RANGES);
    kymo_reader c = kymo_reader_part(s.data, s.size, offset, s.size);
    uint64_t base = unit->low_pc;
    uint64_t select = unit->address_size == 8 ? UINT64_MAX : UINT32_MAX;
    while (*budget > 0 && !c.failed) {
        (*budget)--;
        uint64_t low = kymo_read_uint(&c, unit->address_size);
        uint64_t high = kymo_read_uint(&c, unit->address_size);
        if (c.failed || (low == 0 && high == 0))
            break;
        if (low == select)
            base = high;
        else
            KYMO_TRY(add_range(dwarf, base + low, base + high, out));
    }
    return KYMO_OK;
}

static kymo_err read_list(kymo_dwarf *dwarf, const dwarf_unit *unit, uint64_t offset,
                          uint64_t *budget, dwarf_range_vec *out)
{
    kymo_span s = kymo_dwarf_section(dwarf, DWARF_RNGLISTS);
    kymo_reader c = kymo_reader_part(s.data, s.size, offset, s.size);
    uint64_t base = unit->low_pc;
    while (*budget > 0 && !c.failed) {
        (*budget)--;
        uint64_t low = 0, high = 0;
        bool known = true;
        switch (kymo_read_u8(&c)) {
        case DW_RLE_end_of_list:
            return KYMO_OK;
        case DW_RLE_base_addressx:
            if (!indexed_address(dwarf, unit, kymo_read_uleb(&c), &base))
                return KYMO_OK;
            continue;
        case DW_RLE_startx_endx:
            known = indexed_address(dwarf, unit, kymo_read_uleb(&c), &low);
            known = indexed_address(dwarf, unit, kymo_read_uleb(&c), &high) && known;
            break;
        case DW_RLE_startx_length:
            known = indexed_address(dwarf, unit, kymo_read_uleb(&c), &low);
            high = low + kymo_read_uleb(&c);
            break;
        case DW_RLE_offset_pair:
            low = base + kymo_read_uleb(&c);
            high = base + kymo_read_uleb(&c);
            break;
        case DW_RLE_base_address:
            base = kymo_read_uint(&c, unit->address_size);
            continue;
        case DW_RLE_start_end:
            low = kymo_read_uint(&c, unit->address_size);
            high = kymo_read_uint(&c, unit->address_size);
            break;
        case DW_RLE_start_length:
            low = kymo_read_uint(&c, unit->address_size);
            high = low + kymo_read_uleb(&c);
            break;
        default:
            return KYMO_OK;
        }
        if (known && !c.failed)
            KYMO_TRY(add_range(dwarf, low, high, out));
    }
    return KYMO_OK;
}

kymo_err kymo_dwarf_read_extent(kymo_dwarf *dwarf, const dwarf_unit *unit,
                                const dwarf_extent *extent, uint64_t *budget, dwarf_range_vec *out)
{
    if (extent->has & 4) {
        uint64_t offset = extent->ranges.number;
        if (extent->ranges.kind == DWARF_LIST_INDEX) {
            kymo_span s = kymo_dwarf_section(dwarf, DWARF_RNGLISTS);
            if (offset > s.size)
                return KYMO_OK;
            kymo_reader c = kymo_reader_part(
                s.data, s.size, unit->rnglists_base + offset * unit->offset_size, s.size);
            offset = unit->rnglists_base + kymo_read_uint(&c, unit->offset_size);
            if (c.failed)
                return KYMO_OK;
        } else if (extent->ranges.kind != DWARF_OFFSET && extent->ranges.kind != DWARF_NUMBER) {
            return KYMO_OK;
        }
        return unit->version >= 5 ? read_list(dwarf, unit, offset, budget, out)
                                  : read_old_list(dwarf, unit, offset, budget, out);
    }
    uint64_t low, high;
    if ((extent->has & 3) != 3 || *budget == 0 ||
        !kymo_dwarf_resolve_address(dwarf, unit, &extent->low, &low))
        return KYMO_OK;
    (*budget)--;
    if (extent->high.kind == DWARF_NUMBER)
        high = low + extent->high.number; /* since DWARF 4 a length */
    else if (!kymo_dwarf_resolve_address(dwarf, unit, &extent->high, &high))
        return KYMO_OK;
    return add_range(dwarf, low, high, out);
}
