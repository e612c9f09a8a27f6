/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - tells the recorder which ELF files the pcs of a stack lie in.
 *
 * Layer:    capture
 * Flow:     on_signal.c (new stacks) -> [module] -> session's module table -> drain.c
 * Threads:  any; entries are claimed and published without locks
 * Memory:   the session's table; reads ELF headers and the loader's link_map in place
 * Signals:  kymo_modules_note is safe: _dl_find_object takes no lock
 */
#ifndef KYMO_CAPTURE_MODULE_H
#define KYMO_CAPTURE_MODULE_H

#include "capture/state.h"

/* Registers the module of each pc that is not registered yet. pcs[0] is a pc, the others are
 * return addresses. */
KYMO_SIGNAL_SAFE void kymo_modules_note(struct kymo_capture_process *process, const uint64_t *pcs,
                                        uint32_t n);

/* After a dlclose: moves the module generation on, and marks what is no longer mapped. Not for
 * handlers. */
void kymo_modules_after_close(struct kymo_capture_process *process);

/* ---- tables.c: takes the row tables that the recorder made into the walker ---- */

/* Adds what is new in the area. */
KYMO_SIGNAL_SAFE void kymo_tables_take(struct kymo_capture_process *process);
/* Whether there is something new: one load. */
KYMO_SIGNAL_SAFE static inline int kymo_tables_are_new(const struct kymo_capture_process *p)
{
    return p->table_area && kymo_load_acquire(&p->table_area->count) != p->tables_taken;
}

/* What was mapped at [start, end) is gone: withdraws its table. In the dlclose hook. */
void kymo_tables_drop(struct kymo_capture_process *process, uint64_t start, uint64_t end);

#endif
