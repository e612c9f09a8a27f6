/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_units.h - which units an address may belong to.
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
    kymo_intervals ranges;       /* value: place in offsets */
    KYMO_VEC(uint64_t) offsets;  /* of units; those of .debug_aranges may not be of any */
    KYMO_VEC(dwarf_unit *) bare; /* units that tell no addresses */
    enum { DWARF_UNITS_ARANGES, DWARF_UNITS_ROOTS, DWARF_UNITS_ALL } knows;
} dwarf_unit_index;

/* Reads .debug_aranges. Only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_units_build(kymo_dwarf *dwarf, dwarf_unit_index *out);
void kymo_dwarf_units_deinit(dwarf_unit_index *index);
/* The unit of a range, or NULL. */
dwarf_unit *kymo_dwarf_units_get(kymo_dwarf *dwarf, const dwarf_unit_index *index, uint32_t range);
/* Adds the next most costly addresses: those that roots tell, then those of functions in units that
 * tell none. Returns KYMO_E_NOT_FOUND when there are no more; else only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_units_widen(kymo_dwarf *dwarf, dwarf_unit_index *index);

#endif
