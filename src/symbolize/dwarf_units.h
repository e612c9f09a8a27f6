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
    kymo_intervals ranges;   /* value: index of the unit */
    KYMO_VEC(uint32_t) bare; /* units that tell no addresses; walked when nothing else fits */
} dwarf_unit_index;

/* Only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_units_build(kymo_dwarf *dwarf, dwarf_unit_index *out);
void kymo_dwarf_units_deinit(dwarf_unit_index *index);
/* Walks the units that tell no addresses and adds those of their functions; does so once. Returns
 * KYMO_E_NOT_FOUND when there is nothing (more) to add. */
KYMO_NODISCARD
kymo_err kymo_dwarf_units_widen(kymo_dwarf *dwarf, dwarf_unit_index *index);

#endif
