/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_late.h - keeps frees that could not be recorded when they happened: there was no room, or
 * the thread's record has ended. The next thread that writes a record writes them, too.
 *
 * Layer:    capture
 * Flow:     alloc_record.c -> [late] -> alloc_record.c
 * Threads:  any
 * Memory:   2 KiB of .bss
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_ALLOC_LATE_H
#define KYMO_CAPTURE_ALLOC_LATE_H

#include <stdint.h>

#include "base/attr.h"

#define KYMO_ALLOC_LATE 256u

/* 0: there are too many already. */
KYMO_SIGNAL_SAFE int kymo_alloc_late_put(uint64_t id);

/* Whether there may be any: one load. */
KYMO_SIGNAL_SAFE int kymo_alloc_late_waits(void);

/* One of them, 0: there is none. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_late_take(void);

/* In a forked child: those are its parent's. */
KYMO_SIGNAL_SAFE void kymo_alloc_late_forget(void);

#endif
