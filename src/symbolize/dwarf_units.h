/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_units.h - finds the units that an address may belong to.
 *
 * Layer:    symbolize (cold half); above dwarf_file, dwarf_functions, intervals
 * Flow:     .debug_aranges, roots, functions -> [dwarf_units] -> module
 * Threads:  one owner at a time
 * Memory:   the caller owns the index
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DWARF_UNITS_H
#define KYMO_SYMBOLIZE_DWARF_UNITS_H

#include "symbolize/dwarf_file.h"
#include "symbolize/intervals.h"

typedef struct dwarf_unit_index {
    kymo_intervals ranges;       /* value: index in offsets */
    KYMO_VEC(uint64_t) offsets;  /* of units; those from .debug_aranges may be wrong */
    KYMO_VEC(dwarf_unit *) bare; /* units without ranges in their roots */
    enum { DWARF_UNITS_ARANGES, DWARF_UNITS_ROOTS, DWARF_UNITS_ALL } knows;
} dwarf_unit_index;

/* Reads .debug_aranges. Only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_units_build(kymo_dwarf *dwarf, dwarf_unit_index *out);
void kymo_dwarf_units_deinit(dwarf_unit_index *index);
/* The unit of a range, or NULL. */
dwarf_unit *kymo_dwarf_units_get(kymo_dwarf *dwarf, const dwarf_unit_index *index, uint32_t range);
/* Adds the next more costly source of addresses: roots of units, then functions of units whose
 * root has none. Returns KYMO_E_NOT_FOUND if there is no further source; else only KYMO_E_NOMEM
 * fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_units_widen(kymo_dwarf *dwarf, dwarf_unit_index *index);

#endif
