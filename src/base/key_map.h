/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_map.h - from 64-bit keys to 32-bit values, with removal.
 *
 * Layer:    base (cold half only)
 * Threads:  one owner at a time
 * Memory:   from malloc, 16 bytes for each slot, of which at most half are used
 * Signals:  not for handlers
 *
 * For tables whose elements come and go. Where nothing ever goes, kymo_index is smaller.
 */
#ifndef KYMO_BASE_KEY_MAP_H
#define KYMO_BASE_KEY_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct kymo_key_slot {
    uint64_t key;
    uint32_t value;
    uint32_t is_used;
} kymo_key_slot;

/* Zero bytes are a valid, empty map. */
typedef struct kymo_key_map {
    kymo_key_slot *slots;
    size_t mask; /* number of slots - 1; slots is NULL while nothing was put */
    size_t used;
} kymo_key_map;

void kymo_key_map_deinit(kymo_key_map *map);
/* The value of a key, which may be changed; NULL: it has none. Valid until the map is changed. */
uint32_t *kymo_key_map_find(const kymo_key_map *map, uint64_t key);
/* The key must not be in the map. KYMO_E_NOMEM leaves it as it was. */
KYMO_NODISCARD
kymo_err kymo_key_map_put(kymo_key_map *map, uint64_t key, uint32_t value);
/* As put, of a key that may be there: then it keeps its value. */
KYMO_NODISCARD
kymo_err kymo_key_map_add(kymo_key_map *map, uint64_t key);
/* A key that is not there stays so. */
void kymo_key_map_remove(kymo_key_map *map, uint64_t key);

#endif
