/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static uint32_t add(kymo_profile *p, const char *name, uint32_t parent, uint32_t color)
{
    uint32_t id = KYMO_NONE;
    kymo_marker_category c = {sizeof c, add_string(p, name), parent, color};
    ok(kymo_profile_add_marker_category(p, &c, &id));
    return id;
}

static void same_name_is_same_category(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t net = add(p, "Network", KYMO_NONE, 7);
    uint32_t disk = add(p, "Disk", KYMO_NONE, 4);
    assert_int_not_equal(net, disk);
    assert_int_equal(add(p, "Network", KYMO_NONE, 3), net);
    assert_int_equal(kymo_profile_marker_category(p, net)->color, 7);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_MARKER_CATEGORIES), 2);
    assert_null(kymo_profile_marker_category(p, 2));
    kymo_profile_destroy(p);
}

static void parts_have_the_colour_of_the_whole(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t net = add(p, "Network", KYMO_NONE, 7);
    uint32_t disk = add(p, "Disk", KYMO_NONE, 4);
    uint32_t net_read = add(p, "read", net, 0);
    uint32_t disk_read = add(p, "read", disk, 0);
    assert_int_not_equal(net_read, disk_read);
    assert_int_equal(kymo_profile_marker_category(p, disk_read)->color, 4);
    assert_int_equal(kymo_profile_marker_category(p, disk_read)->parent, disk);
    /* A part of a part is one of the whole. */
    assert_int_equal(kymo_profile_marker_category(p, add(p, "tls", net_read, 0))->parent, net);
    kymo_profile_destroy(p);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id = 8;
    kymo_marker_category c = {sizeof c, 0, 0, 0};
    assert_int_equal(kymo_profile_add_marker_category(p, &c, &id), KYMO_E_INVALID);
    c = (kymo_marker_category){sizeof c, 99, KYMO_NONE, 0};
    assert_int_equal(kymo_profile_add_marker_category(p, &c, &id), KYMO_E_INVALID);
    c = (kymo_marker_category){sizeof c - 1, 0, KYMO_NONE, 0};
    assert_int_equal(kymo_profile_add_marker_category(p, &c, &id), KYMO_E_INVALID);
    assert_int_equal(id, 8);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_name_is_same_category),
        cmocka_unit_test(parts_have_the_colour_of_the_whole),
        cmocka_unit_test(unknown_ids_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
