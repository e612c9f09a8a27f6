/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_value.c - attribute values by form, and the address ranges that they describe.
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

/* How the bytes of a form are laid out. */
enum layout {
    UNKNOWN,        /* the rest cannot be read */
    BYTES,          /* number given by the form */
    ADDRESS,        /* size of an address of the unit */
    OFFSET,         /* size of an offset of the unit */
    SECTION_OFFSET, /* an offset, in DWARF 2 of the size of an address */
    PRESENT,        /* none: the presence of the attribute is the value */
    IMPLICIT,       /* none: the value is in the abbreviation */
    ULEB,
    SLEB,
    TEXT,
    BLOCK, /* after its length, which has this many bytes; 0: ULEB */
};

/* What the number of a form means, beside the kinds of dwarf_value. */
enum { IN_UNIT = DWARF_LIST_INDEX + 1, IN_STR, IN_LINE_STR, IN_ALT_STR, INDEXED };

struct form {
    uint8_t layout;
    uint8_t bytes; /* in a usual unit */
    uint8_t meaning;
};

static const struct form forms[] = {
    [DW_FORM_addr] = {ADDRESS, 8, DWARF_ADDRESS},
    [DW_FORM_block2] = {BLOCK, 2, DWARF_NOTHING},
    [DW_FORM_block4] = {BLOCK, 4, DWARF_NOTHING},
    [DW_FORM_data2] = {BYTES, 2, DWARF_NUMBER},
    [DW_FORM_data4] = {BYTES, 4, DWARF_NUMBER},
    [DW_FORM_data8] = {BYTES, 8, DWARF_NUMBER},
    [DW_FORM_string] = {TEXT, 0, DWARF_TEXT},
    [DW_FORM_block] = {BLOCK, 0, DWARF_NOTHING},
    [DW_FORM_block1] = {BLOCK, 1, DWARF_NOTHING},
    [DW_FORM_data1] = {BYTES, 1, DWARF_NUMBER},
    [DW_FORM_flag] = {BYTES, 1, DWARF_NUMBER},
    [DW_FORM_sdata] = {SLEB, 0, DWARF_NUMBER},
    [DW_FORM_strp] = {OFFSET, 4, IN_STR},
    [DW_FORM_udata] = {ULEB, 0, DWARF_NUMBER},
    [DW_FORM_ref_addr] = {SECTION_OFFSET, 4, DWARF_REFERENCE},
    [DW_FORM_ref1] = {BYTES, 1, IN_UNIT},
    [DW_FORM_ref2] = {BYTES, 2, IN_UNIT},
    [DW_FORM_ref4] = {BYTES, 4, IN_UNIT},
    [DW_FORM_ref8] = {BYTES, 8, IN_UNIT},
    [DW_FORM_ref_udata] = {ULEB, 0, IN_UNIT},
    [DW_FORM_sec_offset] = {OFFSET, 4, DWARF_OFFSET},
    [DW_FORM_exprloc] = {BLOCK, 0, DWARF_NOTHING},
    [DW_FORM_flag_present] = {PRESENT, 0, DWARF_NUMBER},
    [DW_FORM_strx] = {ULEB, 0, INDEXED},
    [DW_FORM_addrx] = {ULEB, 0, DWARF_ADDRESS_INDEX},
    [DW_FORM_ref_sup4] = {BYTES, 4, DWARF_REFERENCE_ALT},
    [DW_FORM_strp_sup] = {OFFSET, 4, IN_ALT_STR},
    [DW_FORM_data16] = {BYTES, 16, DWARF_NOTHING},
    [DW_FORM_line_strp] = {OFFSET, 4, IN_LINE_STR},
    [DW_FORM_ref_sig8] = {BYTES, 8, DWARF_NOTHING},
    [DW_FORM_implicit_const] = {IMPLICIT, 0, DWARF_NUMBER},
    [DW_FORM_loclistx] = {ULEB, 0, DWARF_NOTHING},
    [DW_FORM_rnglistx] = {ULEB, 0, DWARF_LIST_INDEX},
    [DW_FORM_ref_sup8] = {BYTES, 8, DWARF_REFERENCE_ALT},
    [DW_FORM_strx1] = {BYTES, 1, INDEXED},
    [DW_FORM_strx2] = {BYTES, 2, INDEXED},
    [DW_FORM_strx3] = {BYTES, 3, INDEXED},
    [DW_FORM_strx4] = {BYTES, 4, INDEXED},
    [DW_FORM_addrx1] = {BYTES, 1, DWARF_ADDRESS_INDEX},
    [DW_FORM_addrx2] = {BYTES, 2, DWARF_ADDRESS_INDEX},
    [DW_FORM_addrx3] = {BYTES, 3, DWARF_ADDRESS_INDEX},
    [DW_FORM_addrx4] = {BYTES, 4, DWARF_ADDRESS_INDEX},
};

#define GNU_FIRST 0x1f00u
static const struct form gnu_forms[] = {
    [DW_FORM_GNU_addr_index - GNU_FIRST] = {ULEB, 0, DWARF_ADDRESS_INDEX},
    [DW_FORM_GNU_str_index - GNU_FIRST] = {ULEB, 0, INDEXED},
    [DW_FORM_GNU_ref_alt - GNU_FIRST] = {OFFSET, 4, DWARF_REFERENCE_ALT},
    [DW_FORM_GNU_strp_alt - GNU_FIRST] = {OFFSET, 4, IN_ALT_STR},
};

static const struct form *form_of(uint64_t number)
{
    static const struct form unknown;
    if (number < KYMO_ARRAY_LEN(forms))
        return &forms[number];
    return number - GNU_FIRST < KYMO_ARRAY_LEN(gnu_forms) ? &gnu_forms[number - GNU_FIRST]
                                                          : &unknown;
}

/* The form may be given before the value; it must not be indirect again. */
static const struct form *form_at(kymo_reader *c, const dwarf_attr_spec *spec)
{
    return form_of(spec->form == DW_FORM_indirect ? kymo_read_uleb(c) : spec->form);
}

int kymo_dwarf_form_size(unsigned number)
{
    const struct form *form = form_of(number);
    return form->layout >= BYTES && form->layout <= IMPLICIT ? form->bytes : -1;
}

/* The bytes of a form of fixed size in this unit. */
static unsigned width_of(const dwarf_unit *unit, const struct form *form)
{
    switch (form->layout) {
    case SECTION_OFFSET:
        return unit->version == 2 ? unit->address_size : unit->offset_size;
    case ADDRESS:
        return unit->address_size;
    case OFFSET:
        return unit->offset_size;
    default:
        return form->bytes;
    }
}

static void skip(const dwarf_unit *unit, kymo_reader *c, const struct form *form)
{
    switch (form->layout) {
    case UNKNOWN:
        return kymo_reader_fail(c);
    case ULEB:
    case SLEB:
        (void)kymo_read_uleb(c);
        return;
    case TEXT:
        (void)kymo_read_text(c);
        return;
    case BLOCK:
        return kymo_reader_skip(c,
                                form->bytes ? kymo_read_uint(c, form->bytes) : kymo_read_uleb(c));
    default:
        return kymo_reader_skip(c, width_of(unit, form));
    }
}

void kymo_dwarf_skip_value(const dwarf_unit *unit, kymo_reader *c, const dwarf_attr_spec *spec)
{
    skip(unit, c, form_at(c, spec));
}

static uint64_t read_number(const dwarf_unit *unit, kymo_reader *c, const struct form *form,
                            const dwarf_attr_spec *spec)
{
    switch (form->layout) {
    case PRESENT:
        return 1;
    case IMPLICIT:
        return (uint64_t)spec->implicit;
    case ULEB:
        return kymo_read_uleb(c);
    case SLEB:
        return (uint64_t)kymo_read_sleb(c);
    default:
        return kymo_read_uint(c, width_of(unit, form));
    }
}

static void set_text(dwarf_value *out, const char *text)
{
    out->kind = text ? DWARF_TEXT : DWARF_NOTHING;
    out->text = text;
}

void kymo_dwarf_read_value(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader *c,
                           const dwarf_attr_spec *spec, dwarf_value *out)
{
    const struct form *form = form_at(c, spec);
    *out = (dwarf_value){.kind = DWARF_NOTHING};
    if (form->meaning == DWARF_NOTHING)
        return skip(unit, c, form);
    if (form->meaning == DWARF_TEXT)
        return set_text(out, kymo_read_text(c));
    uint64_t number = read_number(unit, c, form, spec);
    switch (form->meaning) {
    case IN_STR:
        return set_text(out, text_at(dwarf, DWARF_STR, number));
    case IN_LINE_STR:
        return set_text(out, text_at(dwarf, DWARF_LINE_STR, number));
    case IN_ALT_STR:
        return set_text(out, text_at(dwarf->alt, DWARF_STR, number));
    case INDEXED:
        return set_text(out, indexed_text(dwarf, unit, number));
    case IN_UNIT:
        *out = (dwarf_value){.kind = DWARF_REFERENCE, .number = unit->offset + number};
        return;
    default:
        out->kind = form->meaning;
        out->number = number;
    }
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

/* A range outside of all code belongs to a function that the linker removed: its address was set
 * to 0, 1 or -1, to which offsets may have been added. */
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
        high = low + extent->high.number; /* since DWARF 4 it is a length */
    else if (!kymo_dwarf_resolve_address(dwarf, unit, &extent->high, &high))
        return KYMO_OK;
    return add_range(dwarf, low, high, out);
}
