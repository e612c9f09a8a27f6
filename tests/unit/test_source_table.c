/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void sources_are_interned_apart_from_strings(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_string(p, "one");
    uint32_t a = add_source(p, "/src/a.c");
    uint32_t b = add_source(p, "/src/b.c");
    assert_int_equal(a, 0);
    assert_int_equal(b, 1);
    assert_int_equal(add_source(p, "/src/a.c"), a);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_SOURCES), 2);
    assert_string_equal(kymo_profile_source(p, b), "/src/b.c");
    assert_string_equal(kymo_profile_source(p, KYMO_NONE), "");
    kymo_profile_destroy(p);
}

static void limits_hold(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id = 5;
    add_source(p, "known");
    size_t len = p->sources.len;
    p->sources.len = KYMO_SOURCES_MAX;
    assert_int_equal(kymo_profile_add_source(p, "new", 3, &id), KYMO_E_TOO_BIG);
    assert_int_equal(add_source(p, "known"), 0);
    p->sources.len = len;
    assert_int_equal(id, 5);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_interned_apart_from_strings),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
