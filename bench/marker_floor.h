/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_floor.h - bare writes to a ring: see marker_loop.h.
 */
#ifndef KYMO_BENCH_MARKER_FLOOR_H
#define KYMO_BENCH_MARKER_FLOOR_H

#include <stdint.h>

#include "marker_loop.h"

/* Their names are a shape and the bytes of all that is written: "ring32" is one record, "scope24"
 * one with two timestamps, "text56" one with a text, "pair64" two records. */
extern const struct loop_kind floor_kinds[];
extern const uint32_t floor_count;

enum floor_place { FLOOR_WARM, FLOOR_COLD, FLOOR_PLACES };

/* The calling thread's rings. */
void floor_open(void);
/* What the next floors write to: warm ones begin with the same line each time. */
void floor_prepare(enum floor_place place);

#endif
