/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_map.c - linear probing. A removal closes its gap, so that a search ends at the first slot
 * that is not used.
 */
#include "base/key_map.h"

#include <stdlib.h>

#include "base/hash.h"

#define SLOTS_LEAST 16u

static size_t home_of(const kymo_key_map *map, uint64_t key)
{
    return kymo_hash_words(&key, 1, kymo_hash_secret()) & map->mask;
}

static kymo_key_slot *find(const kymo_key_map *map, uint64_t key)
{
    if (!map->slots)
        return NULL;
    size_t i = home_of(map, key);
    while (map->slots[i].is_used && map->slots[i].key != key)
        i = (i + 1) & map->mask;
    return map->slots[i].is_used ? &map->slots[i] : NULL;
}

static void place(kymo_key_map *map, uint64_t key, uint32_t value)
{
    size_t i = home_of(map, key);
    while (map->slots[i].is_used)
        i = (i + 1) & map->mask;
    map->slots[i] = (kymo_key_slot){key, value, 1};
}

static kymo_err grow(kymo_key_map *map)
{
    kymo_key_map larger = {.mask = map->slots ? 2 * map->mask + 1 : SLOTS_LEAST - 1,
                           .used = map->used};
    larger.slots = calloc(larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots)
        return KYMO_E_NOMEM;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].is_used)
            place(&larger, map->slots[i].key, map->slots[i].value);
    free(map->slots);
    *map = larger;
    return KYMO_OK;
}

void kymo_key_map_deinit(kymo_key_map *map)
{
    free(map->slots);
    *map = (kymo_key_map){.slots = NULL};
}

uint32_t *kymo_key_map_find(const kymo_key_map *map, uint64_t key)
{
    kymo_key_slot *slot = find(map, key);
    return slot ? &slot->value : NULL;
}

kymo_err kymo_key_map_put(kymo_key_map *map, uint64_t key, uint32_t value)
{
    if (!map->slots || 2 * (map->used + 1) > map->mask + 1)
        KYMO_TRY(grow(map));
    place(map, key, value);
    map->used++;
    return KYMO_OK;
}

kymo_err kymo_key_map_add(kymo_key_map *map, uint64_t key)
{
    return kymo_key_map_find(map, key) ? KYMO_OK : kymo_key_map_put(map, key, 0);
}

void kymo_key_map_remove(kymo_key_map *map, uint64_t key)
{
    kymo_key_slot *gap = find(map, key);
    if (!gap)
        return;
    size_t hole = (size_t)(gap - map->slots);
    for (size_t i = (hole + 1) & map->mask; map->slots[i].is_used; i = (i + 1) & map->mask) {
        /* One may move back into the hole unless that lies before its home, going round. */
        if (((i - home_of(map, map->slots[i].key)) & map->mask) >= ((i - hole) & map->mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].is_used = 0;
    map->used--;
}
