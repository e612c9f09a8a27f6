/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void losses_of_a_name_add_up(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_marker_losses a = {.size = sizeof a,
                            .name = add_string(p, "request"),
                            .category = KYMO_NONE,
                            .schema = KYMO_NONE,
                            .lost = 3,
                            .capped = 4,
                            .cut = UINT64_MAX};
    ok(kymo_profile_add_marker_losses(p, &a));
    ok(kymo_profile_add_marker_losses(p, &a));
    a.name = add_string(p, "answer");
    ok(kymo_profile_add_marker_losses(p, &a));
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_MARKER_LOSSES), 2);
    const kymo_marker_losses *row = kymo_profile_marker_losses(p, 0);
    assert_int_equal(row->lost, 6);
    assert_int_equal(row->capped, 8);
    assert_true(row->cut == UINT64_MAX);
    assert_int_equal(kymo_profile_marker_losses(p, 1)->lost, 3);
    assert_null(kymo_profile_marker_losses(p, 2));
    a.category = 0;
    assert_int_equal(kymo_profile_add_marker_losses(p, &a), KYMO_E_INVALID);
    a = (kymo_marker_losses){.size = sizeof a, .category = KYMO_NONE};
    assert_int_equal(kymo_profile_add_marker_losses(p, &a), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses_of_a_name_add_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
