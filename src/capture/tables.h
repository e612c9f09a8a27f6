/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h - takes the row tables that the recorder made into the walker.
 *
 * Layer:    capture
 * Flow:     table area -> [tables] -> walker
 * Threads:  any; one at a time gets in, the others go on without
 * Signals:  kymo_tables_take is safe
 */
#ifndef KYMO_CAPTURE_TABLES_H
#define KYMO_CAPTURE_TABLES_H

#include "capture/state.h"

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
