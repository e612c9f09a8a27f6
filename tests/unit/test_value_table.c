/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void values_come_out_as_they_went_in(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_value v[] = {
        {.kind = KYMO_VALUE_U64, .as.u64 = UINT64_MAX},
        {.kind = KYMO_VALUE_I64, .as.i64 = INT64_MIN},
        {.kind = KYMO_VALUE_STRING, .as.string = add_string(p, "a")},
        {.kind = KYMO_VALUE_NONE},
    };
    uint32_t first = 8;
    uint32_t second = 8;
    ok(kymo_profile_add_values(p, v, 4, &first));
    ok(kymo_profile_add_values(p, v + 1, 2, &second));
    assert_int_equal(second, first + 4);
    const kymo_value *out = kymo_profile_values(p, first, 4);
    assert_true(out[0].as.u64 == UINT64_MAX);
    assert_true(out[1].as.i64 == INT64_MIN);
    assert_int_equal(out[2].as.string, v[2].as.string);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_VALUES), 6);
    assert_null(kymo_profile_values(p, 5, 2));
    assert_null(kymo_profile_values(p, 7, 0));
    kymo_profile_destroy(p);
}

static void what_they_refer_to_is_there(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t first = 8;
    kymo_value v = {.kind = KYMO_VALUE_STRING, .as.string = 1};
    assert_int_equal(kymo_profile_add_values(p, &v, 1, &first), KYMO_E_INVALID);
    v = (kymo_value){.kind = KYMO_VALUE_LIST};
    assert_int_equal(kymo_profile_add_values(p, &v, 1, &first), KYMO_E_INVALID); /* in a list */
    assert_true(kymo_profile_has_value(p, &v));
    v.as.list.count = 1;
    assert_false(kymo_profile_has_value(p, &v));
    v = (kymo_value){.kind = KYMO_VALUE_LIST + 1};
    assert_int_equal(kymo_profile_add_values(p, &v, 1, &first), KYMO_E_INVALID);
    assert_int_equal(first, 8);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_out_as_they_went_in),
        cmocka_unit_test(what_they_refer_to_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
