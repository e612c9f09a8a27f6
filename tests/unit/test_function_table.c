/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void identity_is_all_of_it(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t a = add_process(p, 1, 0);
    uint32_t b = add_process(p, 2, 0);
    uint32_t one = add_module(p, a, "/lib/x.so", "id-1");
    uint32_t two = add_module(p, a, "/lib/y.so", "id-2");
    uint32_t one_again = add_module(p, b, "/lib/x.so", "id-1");
    uint32_t f = add_function(p, "f", one);
    assert_int_equal(add_function(p, "f", one), f);
    assert_int_equal(add_function(p, "f", one_again), f); /* one file in two processes */
    assert_int_not_equal(add_function(p, "f", two), f);
    assert_int_not_equal(add_function(p, "f", KYMO_NONE), f);
    kymo_function row = *kymo_profile_function(p, f);
    uint32_t id;
    row.system_name = row.name; /* says nothing new */
    ok(kymo_profile_add_function(p, &row, &id));
    assert_int_equal(id, f);
    row.start_line = 3;
    ok(kymo_profile_add_function(p, &row, &id));
    assert_int_not_equal(id, f);
    row.source = add_source(p, "/src/f.c");
    ok(kymo_profile_add_function(p, &row, &id));
    assert_int_equal(id, kymo_profile_count(p, KYMO_TABLE_FUNCTIONS) - 1);
    kymo_profile_destroy(p);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id = 5;
    kymo_function row = {.name = 9, .source = KYMO_NONE, .module = KYMO_NONE};
    assert_int_equal(kymo_profile_add_function(p, &row, &id), KYMO_E_INVALID);
    row.name = 0;
    row.source = 0;
    assert_int_equal(kymo_profile_add_function(p, &row, &id), KYMO_E_INVALID);
    row.source = KYMO_NONE;
    row.module = 0;
    assert_int_equal(kymo_profile_add_function(p, &row, &id), KYMO_E_INVALID);
    assert_int_equal(id, 5);
    assert_null(kymo_profile_function(p, 0));
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_all_of_it),
        cmocka_unit_test(unknown_ids_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
