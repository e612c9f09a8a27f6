/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_units.c - the address index of the units.
 *
 * .debug_aranges is small and made for this; but clang leaves it out, and assemblers leave units
 * out of it. A unit that is not in there tells its ranges in its root. One that does not even do
 * that (old compilers; units that hold only types, and LTO's, which hold only what others inline)
 * has its entries walked, but not before an address was found nowhere else.
 */
#include "symbolize/dwarf_units.h"

#include <stdlib.h>

#include "symbolize/dwarf_constants.h"
#include "symbolize/dwarf_functions.h"

void kymo_dwarf_units_deinit(dwarf_unit_index *index)
{
    kymo_vec_deinit(&index->ranges);
    kymo_vec_deinit(&index->bare);
}

static kymo_err add_range(kymo_dwarf *dwarf, dwarf_unit_index *index, uint64_t low, uint64_t high,
                          uint32_t unit)
{
    if (high <= low || low < dwarf->code_low || high > dwarf->code_high ||
        index->ranges.len >= KYMO_INTERVAL_NONE - 1)
        return KYMO_OK;
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
static kymo_err read_set(kymo_dwarf *dwarf, dwarf_unit_index *index, dwarf_cursor *c,
                         unsigned offset_size, const unsigned char *set, unsigned char *seen)
{
    if (dwarf_u16(c) != 2)
        return KYMO_OK;
    uint64_t offset = dwarf_uint(c, offset_size);
    unsigned address_size = dwarf_u8(c);
    unsigned segment_size = dwarf_u8(c);
    dwarf_unit *unit = kymo_dwarf_unit_at(dwarf, offset);
    if (c->bad || !unit || unit->offset != offset || segment_size != 0 ||
        (address_size != 8 && address_size != 4))
        return KYMO_OK;
    /* Pairs begin at a multiple of their size from the start of the set. */
    size_t odd = (size_t)(c->p - set) % (2 * address_size);
    if (odd)
        dwarf_skip(c, 2 * address_size - odd);
    uint32_t n = (uint32_t)(unit - dwarf->units.data);
    while (!c->bad && dwarf_left(c) >= 2 * (uint64_t)address_size) {
        uint64_t low = dwarf_uint(c, address_size);
        uint64_t size = dwarf_uint(c, address_size);
        if (low == 0 && size == 0)
            break;
        if (size > UINT64_MAX - low)
            continue;
        size_t before = index->ranges.len;
        KYMO_TRY(add_range(dwarf, index, low, low + size, n));
        if (index->ranges.len > before)
            seen[n] = 1;
    }
    return KYMO_OK;
}

static kymo_err read_aranges(kymo_dwarf *dwarf, dwarf_unit_index *index, unsigned char *seen)
{
    kymo_span s = kymo_dwarf_section(dwarf, DWARF_ARANGES);
    dwarf_cursor c = dwarf_cursor_at(s.data, s.size, 0, s.size);
    while (!c.bad && dwarf_left(&c) > 0) {
        const unsigned char *set = c.p;
        unsigned offset_size = 4;
        uint64_t length = dwarf_u32(&c);
        if (length == 0xffffffffu) {
            offset_size = 8;
            length = dwarf_u64(&c);
        }
        if (c.bad || length > dwarf_left(&c))
            break;
        dwarf_cursor body = {c.p, c.p + length, false};
        c.p += length;
        KYMO_TRY(read_set(dwarf, index, &body, offset_size, set, seen));
    }
    kymo_dwarf_release_section(dwarf, DWARF_ARANGES);
    return KYMO_OK;
}

static kymo_err read_roots(kymo_dwarf *dwarf, dwarf_unit_index *index, const unsigned char *seen)
{
    dwarf_range_vec ranges = {0};
    uint64_t budget = kymo_dwarf_section(dwarf, DWARF_INFO).size +
                      kymo_dwarf_section(dwarf, DWARF_RANGES).size +
                      kymo_dwarf_section(dwarf, DWARF_RNGLISTS).size;
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < dwarf->units.len && err == KYMO_OK; i++) {
        dwarf_unit *unit = &dwarf->units.data[i];
        if (seen[i] || (unit->type != DW_UT_compile && unit->type != DW_UT_skeleton))
            continue;
        ranges.len = 0;
        err = kymo_dwarf_root_ranges(dwarf, unit, &budget, &ranges);
        if (err == KYMO_E_CORRUPT) {
            err = KYMO_OK;
            continue;
        }
        for (size_t k = 0; k < ranges.len && err == KYMO_OK; k++)
            err = add_range(dwarf, index, ranges.data[k].low, ranges.data[k].high, (uint32_t)i);
        if (err == KYMO_OK && ranges.len == 0 && unit->tag != DW_TAG_partial_unit)
            err = kymo_vec_push(&index->bare, (uint32_t)i);
    }
    kymo_vec_deinit(&ranges);
    return err;
}

kymo_err kymo_dwarf_units_build(kymo_dwarf *dwarf, dwarf_unit_index *out)
{
    unsigned char *seen = calloc(dwarf->units.len, 1);
    if (!seen)
        return KYMO_E_NOMEM;
    kymo_err err = read_aranges(dwarf, out, seen);
    if (err == KYMO_OK)
        err = read_roots(dwarf, out, seen);
    free(seen);
    if (err == KYMO_OK)
        kymo_intervals_finish(&out->ranges);
    else
        kymo_dwarf_units_deinit(out);
    return err;
}

kymo_err kymo_dwarf_units_widen(kymo_dwarf *dwarf, dwarf_unit_index *index)
{
    size_t before = index->ranges.len;
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < index->bare.len && err == KYMO_OK; i++) {
        uint32_t n = index->bare.data[i];
        dwarf_function_table *table;
        err = kymo_dwarf_functions_build(dwarf, &dwarf->units.data[n], &table);
        if (err != KYMO_OK) {
            err = err == KYMO_E_CORRUPT ? KYMO_OK : err;
            continue;
        }
        for (size_t k = 0; k < table->ranges.len && err == KYMO_OK; k++) {
            const kymo_interval *r = &table->ranges.data[k];
            if (!table->functions.data[r->value].inlined)
                err = add_range(dwarf, index, r->low, r->high, n);
        }
        kymo_dwarf_functions_free(table);
    }
    kymo_vec_deinit(&index->bare);
    kymo_intervals_finish(&index->ranges);
    if (err == KYMO_OK && index->ranges.len == before)
        err = KYMO_E_NOT_FOUND;
    return err;
}
