/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_map.h - which piece of generated code was at an address of a process at a time.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     events of code -> ingest.c -> [code_map] -> stacks of samples
 * Threads:  one owner at a time
 * Memory:   a map owns its rows; what it puts into the profile is the profile's
 * Signals:  not for handlers
 *
 * A frame outside every module has only an address at first. After the last event, apply looks at
 * each sample's stack at the sample's time and replaces such frames by frames of the process's
 * "[jit]" module, with function, symbol and line. That module lays all pieces of code one after the
 * other, so two pieces that had the same address at different times remain two.
 */
#ifndef KYMO_PROFILE_CODE_MAP_H
#define KYMO_PROFILE_CODE_MAP_H

#include "base/vec.h"
#include "kymo/profile.h"
#include "recording/events.h"

#define KYMO_CODE_MODULE "[jit]"

typedef struct kymo_code_row {
    uint64_t start; /* runtime addresses [start, end) */
    uint64_t end;
    uint64_t from_ns;
    uint64_t to_ns;   /* 0: never replaced */
    uint64_t max_end; /* of this row and all before it in the same process; valid once sorted */
    uint64_t shown;   /* its address in the "[jit]" module */
    uint32_t process;
    uint32_t order; /* in which the events came */
    uint32_t function;
    uint32_t symbol;
    uint32_t module;
    uint32_t line_count;
    size_t first_line;
} kymo_code_row;

typedef struct kymo_code_line_row {
    uint32_t offset;
    uint32_t line;
    uint32_t column;
} kymo_code_line_row;

/* Zero bytes are a valid, empty map. */
typedef struct kymo_code_map {
    KYMO_VEC(kymo_code_row) rows;
    KYMO_VEC(kymo_code_line_row) lines;
    KYMO_VEC(struct kymo_code_process {
        uint32_t module; /* KYMO_NONE: the process has no generated code */
        uint64_t used_bytes;
        size_t first; /* of its rows, once sorted */
        size_t count;
    })
    processes;
} kymo_code_map;

void kymo_code_map_deinit(kymo_code_map *map);

/* KYMO_E_NOMEM, KYMO_E_TOO_BIG, KYMO_E_INVALID (no such process). */
KYMO_NODISCARD
kymo_err kymo_code_map_add(kymo_code_map *map, kymo_profile *profile, const kymo_event_code *e);

/* The row for an address at a time, NULL if there is none. The answer is the same for all times
 * in [*from_ns, *to_ns). *work grows by the number of rows looked at. Only after prepare. */
void kymo_code_map_prepare(kymo_code_map *map);
const kymo_code_row *kymo_code_map_find(const kymo_code_map *map, uint32_t process,
                                        uint64_t address, uint64_t time_ns, uint64_t *from_ns,
                                        uint64_t *to_ns, uint64_t *work);

/* Names the generated code in the stacks of a finished profile. Changes stack ids: ids that the
 * caller kept are not valid afterwards. */
KYMO_NODISCARD
kymo_err kymo_code_map_apply(kymo_code_map *map, kymo_profile *profile);

/* For a profile without samples, where apply does nothing: adds the frames that it would make for
 * addresses outside every module that turned out to be in one (V8's built-in code, mapped again).
 */
KYMO_NODISCARD
kymo_err kymo_code_place_frames(kymo_profile *profile);

#endif
