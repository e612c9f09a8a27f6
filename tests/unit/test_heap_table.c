/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void a_heap_is_its_process_s(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    for (int32_t i = 0; i < 3; i++)
        add_process(p, 10 + i, 0);
    kymo_heap h = {.size = sizeof h, .process = 1, .rate = 4096, .allocator = add_string(p, "x")};
    assert_null(kymo_profile_heap(p, 1));
    ok(kymo_profile_set_heap(p, &h));
    h.rate = 1;
    ok(kymo_profile_set_heap(p, &h)); /* the last one counts */
    assert_int_equal(kymo_profile_heap(p, 1)->rate, 1);
    assert_null(kymo_profile_heap(p, 0));
    assert_null(kymo_profile_heap(p, 2));
    assert_null(kymo_profile_heap(p, 3));
    kymo_heap wrong[4] = {h, h, h, h};
    wrong[0].size = 8;
    wrong[1].process = 3;
    wrong[2].allocator = 99;
    wrong[3].not_seen = 99;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kymo_profile_set_heap(p, &wrong[i]), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void figures_are_as_they_came(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    size_t count;
    add_process(p, 10, 0);
    assert_null(kymo_profile_memory_infos(p, &count));
    kymo_memory_info info = {.key = add_string(p, "cgroup.memory.max"), .time_ns = 5, .value = 7};
    for (int i = 0; i < 3; i++, info.value++)
        ok(kymo_profile_add_memory_info(p, &info));
    const kymo_memory_info *infos = kymo_profile_memory_infos(p, &count);
    assert_int_equal(count, 3);
    assert_int_equal(infos[2].value, 9);
    info.process = 1;
    assert_int_equal(kymo_profile_add_memory_info(p, &info), KYMO_E_INVALID);
    info.process = 0;
    info.key = 99;
    assert_int_equal(kymo_profile_add_memory_info(p, &info), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_is_its_process_s),
        cmocka_unit_test(figures_are_as_they_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
