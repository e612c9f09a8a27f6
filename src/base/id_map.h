/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id_map.h - ids as a recording has them, in their process where that is their scope, become dense
 * numbers in the order of appearance.
 *
 * Layer:    base; above base
 * Flow:     recording_decode*.c, mark_events.c
 * Threads:  one owner at a time
 * Memory:   from malloc, in proportion to the ids that were added
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_ID_MAP_H
#define KYMO_BASE_ID_MAP_H

#include "base/hash.h"
#include "base/vec.h"

/* Zero bytes are a valid, empty map. */
typedef struct kymo_id_map {
    KYMO_VEC(uint64_t) keys; /* by dense number: scope << 32 | id */
    kymo_index index;
    uint32_t hint; /* dense number - id of the last one found: mostly right for the next, too */
} kymo_id_map;

/* Returns 1 and the number, or 0. */
int kymo_id_map_find(kymo_id_map *map, uint32_t scope, uint32_t id, uint32_t *number);
/* The id must not be in the map. KYMO_E_NOMEM, or KYMO_E_TOO_BIG beyond 2^32 - 2 of them; the map
 * is then as before. */
KYMO_NODISCARD
kymo_err kymo_id_map_add(kymo_id_map *map, uint32_t scope, uint32_t id, uint32_t *number);
void kymo_id_map_deinit(kymo_id_map *map);

#endif
