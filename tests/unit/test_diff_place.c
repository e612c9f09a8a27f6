/* SPDX-License-Identifier: Apache-2.0 */
#include "views/diff_place.h"

#include "unit.h"

static uint32_t find(struct kymo_diff_places *places, const char *name, const char *file,
                     const char *module, uint32_t line)
{
    uint32_t at = 99;
    struct kymo_diff_place wanted = {name, file, module, line};
    assert_int_equal(kymo_diff_places_find(places, wanted, &at), KYMO_OK);
    return at;
}

static void functions_of_one_name_source_and_module_are_one(void **state)
{
    (void)state;
    struct kymo_diff_places places = {0};
    assert_int_equal(find(&places, "f", "a.c", "m", 1), 0);
    assert_int_equal(find(&places, "f", "a.c", "m", 2), 0);
    assert_int_equal(find(&places, "f", "b.c", "m", 1), 1);
    assert_int_equal(find(&places, "f", "a.c", "n", 1), 2);
    assert_int_equal(find(&places, "g", NULL, NULL, 0), 3);
    assert_int_equal(find(&places, "g", "", "", 0), 3);
    assert_int_equal(find(&places, "f", "a.c", "m", 3), 0);
    assert_int_equal(places.list.len, 4);
    kymo_diff_places_deinit(&places);
}

static void lines_count_where_rows_are_lines(void **state)
{
    (void)state;
    struct kymo_diff_places places = {.is_by_line = 1};
    assert_int_equal(find(&places, "f", "a.c", "m", 1), 0);
    assert_int_equal(find(&places, "f", "a.c", "m", 2), 1);
    assert_int_equal(find(&places, "f", "a.c", "m", 1), 0);
    kymo_diff_places_deinit(&places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one_name_source_and_module_are_one),
        cmocka_unit_test(lines_count_where_rows_are_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
