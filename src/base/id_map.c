/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_map.h"

static uint64_t hash_of(uint64_t key)
{
    return kymo_hash_words(&key, 1, kymo_hash_secret());
}

int kymo_id_map_find(kymo_id_map *map, uint32_t scope, uint32_t id, uint32_t *number)
{
    uint64_t key = (uint64_t)scope << 32 | id;
    /* Writers count from 0, so ids that are used together lie at one distance from their numbers.
     */
    uint32_t guess = id + map->hint;
    if (guess < map->keys.len && map->keys.data[guess] == key) {
        *number = guess;
        return 1;
    }
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&map->index, hash_of(key), &probe, &at)) {
        if (map->keys.data[at] == key) {
            map->hint = at - id;
            *number = at;
            return 1;
        }
    }
    return 0;
}

kymo_err kymo_id_map_add(kymo_id_map *map, uint32_t scope, uint32_t id, uint32_t *number)
{
    uint64_t key = (uint64_t)scope << 32 | id;
    if (map->keys.len >= UINT32_MAX - 1)
        return KYMO_E_TOO_BIG;
    uint32_t added = (uint32_t)map->keys.len;
    KYMO_TRY(kymo_vec_push(&map->keys, key));
    kymo_err err = kymo_index_put(&map->index, hash_of(key), added);
    if (err != KYMO_OK) {
        map->keys.len--;
        return err;
    }
    map->hint = added - id;
    *number = added;
    return KYMO_OK;
}

void kymo_id_map_deinit(kymo_id_map *map)
{
    kymo_vec_deinit(&map->keys);
    kymo_index_deinit(&map->index);
}
