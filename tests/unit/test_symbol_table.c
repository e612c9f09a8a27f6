/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void symbols_belong_to_files(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t a = add_process(p, 1, 0);
    uint32_t b = add_process(p, 2, 0);
    uint32_t one = add_module(p, a, "/lib/x.so", "id-1");
    uint32_t again = add_module(p, b, "/lib/x.so", "id-1");
    kymo_symbol s = {.module = one, .name = add_string(p, "f"), .address = 16, .size_bytes = 4};
    uint32_t first;
    uint32_t id;
    ok(kymo_profile_add_symbol(p, &s, &first));
    s.module = again;
    ok(kymo_profile_add_symbol(p, &s, &id));
    assert_int_equal(id, first);
    assert_int_equal(kymo_profile_symbol(p, id)->module, one);
    s.address = 20;
    ok(kymo_profile_add_symbol(p, &s, &id));
    assert_int_not_equal(id, first);
    s.module = 2;
    assert_int_equal(kymo_profile_add_symbol(p, &s, &id), KYMO_E_INVALID);
    s.module = KYMO_NONE;
    assert_int_equal(kymo_profile_add_symbol(p, &s, &id), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_SYMBOLS), 2);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(symbols_belong_to_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
