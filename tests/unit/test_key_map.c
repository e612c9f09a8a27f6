/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/key_map.h"

#define KEYS 3000u

/* Against an array: keys come and go, in clusters as a hash table of 64 slots makes them. */
static void keys_come_and_go(void **state)
{
    (void)state;
    static uint32_t truth[KEYS]; /* value + 1; 0: not there */
    kymo_key_map map = {.slots = NULL};
    uint32_t random = 1;
    size_t there = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        random = random * 1664525 + 1013904223;
        const uint32_t key = (random >> 8) % (i < 150000 ? KEYS : 40);
        uint32_t *value = kymo_key_map_find(&map, key);
        assert_int_equal(value != NULL, truth[key] != 0);
        if (!value) {
            assert_int_equal(kymo_key_map_put(&map, key, i), KYMO_OK);
            truth[key] = i + 1;
            there++;
            continue;
        }
        assert_int_equal(*value, truth[key] - 1);
        if (random >> 31) {
            *value = i;
            truth[key] = i + 1;
            continue;
        }
        kymo_key_map_remove(&map, key);
        truth[key] = 0;
        there--;
    }
    assert_int_equal(map.used, there);
    for (uint32_t key = 0; key < KEYS; key++) {
        const uint32_t *value = kymo_key_map_find(&map, key);
        assert_int_equal(value ? *value + 1 : 0, truth[key]);
    }
    kymo_key_map_deinit(&map);
}

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    kymo_key_map map = {.slots = NULL};
    assert_null(kymo_key_map_find(&map, 0));
    kymo_key_map_remove(&map, 0);
    assert_int_equal(kymo_key_map_put(&map, UINT64_MAX, UINT32_MAX), KYMO_OK);
    assert_int_equal(*kymo_key_map_find(&map, UINT64_MAX), UINT32_MAX);
    assert_null(kymo_key_map_find(&map, 0));
    kymo_key_map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_and_go),
        cmocka_unit_test(an_empty_map_has_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
