/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"
#include "unit.h"

static void push_keeps_order(void **state)
{
    (void)state;
    KYMO_VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(kymo_vec_push(&v, i * i), KYMO_OK);
    assert_int_equal(v.len, 10000);
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(v.data[i], i * i);
    kymo_vec_deinit(&v);
    assert_null(v.data);
}

static void overflow_is_refused(void **state)
{
    (void)state;
    KYMO_VEC(uint64_t) v = {0};
    assert_int_equal(kymo_vec_push(&v, 1u), KYMO_OK);
    assert_int_equal(kymo_vec_reserve(&v, SIZE_MAX / 4), KYMO_E_NOMEM);
    assert_int_equal(v.len, 1);
    assert_int_equal(v.data[0], 1);
    kymo_vec_deinit(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_keeps_order),
        cmocka_unit_test(overflow_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
