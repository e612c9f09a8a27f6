/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_abbrev.h - the tables that say which attributes an entry has.
 *
 * Layer:    symbolize (cold half)
 * Flow:     .debug_abbrev -> [dwarf_abbrev] -> dwarf_file, dwarf_functions, dwarf_names
 * Threads:  one owner at a time
 * Memory:   tables belong to their kymo_dwarf
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DWARF_ABBREV_H
#define KYMO_SYMBOLIZE_DWARF_ABBREV_H

#include "symbolize/dwarf_file.h"

/* The table at an offset, parsed once. KYMO_E_CORRUPT, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_dwarf_abbrevs_get(kymo_dwarf *dwarf, uint64_t offset, const dwarf_abbrev_table **out);
/* NULL is allowed. */
void kymo_dwarf_abbrevs_free(dwarf_abbrev_table *table);

#endif
