/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_map.h"
#include "unit.h"

/* The number of the id that test `i` adds: scopes with dense, sparse and backward ids. */
static void id_of(uint32_t i, uint32_t *scope, uint32_t *id)
{
    *scope = i % 3;
    *id = *scope == 0 ? i : *scope == 1 ? i * 2654435761u : 0u - i;
}

static void numbers_are_dense_and_found_again(void **state)
{
    (void)state;
    enum { N = 30000 };
    kymo_id_map map = {0};
    uint32_t scope, id, number;
    for (uint32_t i = 0; i < N; i++) {
        id_of(i, &scope, &id);
        assert_false(kymo_id_map_find(&map, scope, id, &number));
        assert_int_equal(kymo_id_map_add(&map, scope, id, &number), KYMO_OK);
        assert_int_equal(number, i);
    }
    for (uint32_t i = N; i-- > 0;) {
        id_of(i, &scope, &id);
        assert_true(kymo_id_map_find(&map, scope, id, &number));
        assert_int_equal(number, i);
        /* The same id elsewhere is another one, however near the last find was. */
        assert_false(kymo_id_map_find(&map, scope + 3, id, &number));
    }
    kymo_id_map_deinit(&map);
}

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    kymo_id_map map = {0};
    uint32_t number = 7;
    assert_false(kymo_id_map_find(&map, 0, 0, &number));
    assert_false(kymo_id_map_find(&map, UINT32_MAX, UINT32_MAX, &number));
    assert_int_equal(number, 7);
    kymo_id_map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_dense_and_found_again),
        cmocka_unit_test(an_empty_map_has_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
