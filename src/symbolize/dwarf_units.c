/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_units.c - the address index of the units.
 *
 * .debug_aranges is small and made for this, but clang omits it, and assemblers omit units. A unit
 * that it lacks has its ranges in its root. Some units have no ranges there, either: of old
 * compilers, with types only, and of LTO, with only functions that others inline. Their entries are
 * read. Each of these steps is done when an address was not found before: roots are spread over all
 * of .debug_info, which must then be read, and inflated, to its end.
 */
#include "symbolize/dwarf_units.h"

#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_functions.h"

void kymo_dwarf_units_deinit(dwarf_unit_index *index)
{
    kymo_vec_deinit(&index->ranges);
    kymo_vec_deinit(&index->offsets);
    kymo_vec_deinit(&index->bare);
}

dwarf_unit *kymo_dwarf_units_get(kymo_dwarf *dwarf, const dwarf_unit_index *index, uint32_t range)
{
    uint64_t offset = index->offsets.data[index->ranges.data[range].value];
    dwarf_unit *unit = kymo_dwarf_unit_at(dwarf, offset);
    return unit && unit->offset == offset ? unit : NULL;
}

/* Adds a range of the unit at an offset; those of one unit are added one after the other. */
static kymo_err add_range(kymo_dwarf *dwarf, dwarf_unit_index *index, uint64_t low, uint64_t high,
                          uint64_t offset)
{
    if (high <= low || low < dwarf->code_low || high > dwarf->code_high ||
        index->ranges.len >= KYMO_INTERVAL_NONE - 1)
        return KYMO_OK;
    if (index->offsets.len == 0 || index->offsets.data[index->offsets.len - 1] != offset)
        KYMO_TRY(kymo_vec_push(&index->offsets, offset));
    uint32_t unit = (uint32_t)(index->offsets.len - 1);
    /* Ranges of one unit mostly follow each other. */
    kymo_interval *last = index->ranges.len ? &index->ranges.data[index->ranges.len - 1] : NULL;
    if (last && last->value == unit && last->high == low) {
        last->high = high;
        return KYMO_OK;
    }
    kymo_interval r = {.low = low, .high = high, .value = unit};
    return kymo_vec_push(&index->ranges, r);
}

/* Reads one set of .debug_aranges, of which c holds the rest. */
static kymo_err read_set(kymo_dwarf *dwarf, dwarf_unit_index *index, kymo_reader *c,
                         unsigned offset_size, const unsigned char *set)
{
    if (kymo_read_u16(c) != 2)
        return KYMO_OK;
    uint64_t offset = kymo_read_uint(c, offset_size);
    unsigned address_size = kymo_read_u8(c);
    unsigned segment_size = kymo_read_u8(c);
    if (c->failed || segment_size != 0 || (address_size != 8 && address_size != 4))
        return KYMO_OK;
    /* Pairs begin at a multiple of their size from the start of the set. */
    size_t odd = (size_t)(c->at - set) % (2 * address_size);
    if (odd)
        kymo_reader_skip(c, 2 * address_size - odd);
    while (!c->failed && kymo_reader_left(c) >= 2 * (uint64_t)address_size) {
        uint64_t low = kymo_read_uint(c, address_size);
        uint64_t size = kymo_read_uint(c, address_size);
        if (low == 0 && size == 0)
            break;
        if (size <= UINT64_MAX - low)
            KYMO_TRY(add_range(dwarf, index, low, low + size, offset));
    }
    return KYMO_OK;
}

kymo_err kymo_dwarf_units_build(kymo_dwarf *dwarf, dwarf_unit_index *out)
{
    kymo_span s = kymo_dwarf_section(dwarf, DWARF_ARANGES);
    kymo_reader c = kymo_reader_part(s.data, s.size, 0, s.size);
    kymo_err err = KYMO_OK;
    while (err == KYMO_OK && !c.failed && kymo_reader_left(&c) > 0) {
        const unsigned char *set = c.at;
        unsigned offset_size = 4;
        uint64_t length = kymo_read_u32(&c);
        if (length == 0xffffffffu) {
            offset_size = 8;
            length = kymo_read_u64(&c);
        }
        if (c.failed || length > kymo_reader_left(&c))
            break;
        kymo_reader body = {c.at, c.at + length, false};
        c.at += length;
        err = read_set(dwarf, out, &body, offset_size, set);
    }
    kymo_dwarf_release_section(dwarf, DWARF_ARANGES);
    if (err == KYMO_OK)
        kymo_intervals_finish(&out->ranges);
    else
        kymo_dwarf_units_deinit(out);
    return err;
}

/* Adds the ranges in the roots of the other units. */
static kymo_err read_roots(kymo_dwarf *dwarf, dwarf_unit_index *index)
{
    KYMO_TRY(kymo_dwarf_read_units(dwarf, UINT64_MAX));
    for (size_t i = 0; i < index->offsets.len; i++) {
        dwarf_unit *unit = kymo_dwarf_unit_at(dwarf, index->offsets.data[i]);
        if (unit && unit->offset == index->offsets.data[i])
            unit->in_aranges = true;
    }
    dwarf_range_vec ranges = {0};
    uint64_t budget = dwarf->sections[DWARF_INFO].size +
                      kymo_dwarf_section(dwarf, DWARF_RANGES).size +
                      kymo_dwarf_section(dwarf, DWARF_RNGLISTS).size;
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < dwarf->units.len && err == KYMO_OK; i++) {
        dwarf_unit *unit = dwarf->units.data[i];
        if (unit->in_aranges || (unit->type != DW_UT_compile && unit->type != DW_UT_skeleton))
            continue;
        ranges.len = 0;
        err = kymo_dwarf_root_ranges(dwarf, unit, &budget, &ranges);
        if (err == KYMO_E_CORRUPT) {
            err = KYMO_OK;
            continue;
        }
        for (size_t k = 0; k < ranges.len && err == KYMO_OK; k++)
            err = add_range(dwarf, index, ranges.data[k].low, ranges.data[k].high, unit->offset);
        if (err == KYMO_OK && ranges.len == 0 && unit->tag != DW_TAG_partial_unit)
            err = kymo_vec_push(&index->bare, unit);
    }
    kymo_vec_deinit(&ranges);
    return err;
}

/* Whether functions of the unit may have addresses. Units of LTO with only functions that others
 * inline have none, and walking through all their entries would take longer than all else. */
static bool may_have_code(const dwarf_unit *unit)
{
    const dwarf_abbrev_table *t = unit->abbrevs;
    for (uint32_t i = 0; i < t->n; i++) {
        const dwarf_attr_spec *specs = t->specs + t->abbrevs[i].first;
        for (unsigned k = 0; t->abbrevs[i].tag == DW_TAG_subprogram && k < t->abbrevs[i].count; k++)
            if (specs[k].name == DW_AT_low_pc || specs[k].name == DW_AT_ranges)
                return true;
    }
    return false;
}

/* Adds the functions of units without ranges. */
static kymo_err read_bare(kymo_dwarf *dwarf, dwarf_unit_index *index)
{
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < index->bare.len && err == KYMO_OK; i++) {
        dwarf_unit *unit = index->bare.data[i];
        dwarf_function_table *table;
        if (!may_have_code(unit))
            continue;
        err = kymo_dwarf_functions_build(dwarf, unit, NULL, &table);
        if (err != KYMO_OK) {
            err = err == KYMO_E_CORRUPT ? KYMO_OK : err;
            continue;
        }
        for (size_t k = 0; k < table->ranges.len && err == KYMO_OK; k++) {
            const kymo_interval *r = &table->ranges.data[k];
            if (!table->functions.data[r->value].inlined)
                err = add_range(dwarf, index, r->low, r->high, unit->offset);
        }
        kymo_dwarf_functions_free(table);
    }
    kymo_vec_deinit(&index->bare);
    return err;
}

kymo_err kymo_dwarf_units_widen(kymo_dwarf *dwarf, dwarf_unit_index *index)
{
    if (index->knows == DWARF_UNITS_ALL)
        return KYMO_E_NOT_FOUND;
    kymo_err err =
        index->knows++ == DWARF_UNITS_ARANGES ? read_roots(dwarf, index) : read_bare(dwarf, index);
    kymo_intervals_finish(&index->ranges);
    return err;
}
