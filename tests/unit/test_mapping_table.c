/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static kymo_mapping plain(uint64_t time_ns, uint64_t address, uint64_t bytes)
{
    return (kymo_mapping){.time_ns = time_ns,
                          .end_ns = KYMO_LIVES,
                          .address = address,
                          .bytes = bytes,
                          .stack = KYMO_NONE};
}

static void mappings_are_by_time_and_place(void **state)
{
    (void)state;
    static const uint64_t times[] = {30, 10, 20, 10};
    kymo_profile *p = new_profile();
    size_t count;
    add_process(p, 10, 0);
    add_process(p, 11, 0);
    add_thread(p, 0, 10, 0);
    for (size_t i = 0; i < 4; i++) {
        kymo_mapping m = plain(times[i], 4096 * (9 - i), 4096);
        ok(kymo_profile_add_mapping(p, 0, &m));
    }
    ok(kymo_profile_finish(p));
    const kymo_mapping *m = kymo_profile_mappings(p, 0, &count);
    assert_int_equal(count, 4);
    assert_int_equal(m[0].address, 4096 * 6);
    assert_int_equal(m[1].address, 4096 * 8);
    assert_int_equal(m[2].time_ns, 20);
    assert_int_equal(m[3].time_ns, 30);
    assert_null(kymo_profile_mappings(p, 1, &count));
    assert_null(kymo_profile_mappings(p, 2, &count));
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_MAPPINGS), 4);
    kymo_profile_destroy(p);
}

static void what_is_no_mapping_is_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    size_t count;
    add_process(p, 10, 0);
    add_thread(p, 0, 10, 0);
    kymo_mapping wrong[5] = {plain(1, 0, 1), plain(1, 0, 1), plain(1, 0, 1), plain(1, 0, 0),
                             plain(1, 2, UINT64_MAX - 1)};
    wrong[0].thread = 1;
    wrong[1].stack = 0;
    wrong[2].how = 16;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(kymo_profile_add_mapping(p, 0, &wrong[i]), KYMO_E_INVALID);
    kymo_mapping early = plain(10, 0, 1);
    early.end_ns = 5;
    assert_int_equal(kymo_profile_add_mapping(p, 1, &early), KYMO_E_INVALID);
    ok(kymo_profile_add_mapping(p, 0, &early));
    assert_int_equal(kymo_profile_mappings(p, 0, &count)->end_ns, 10);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mappings_are_by_time_and_place),
        cmocka_unit_test(what_is_no_mapping_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
