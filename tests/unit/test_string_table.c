/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void same_text_same_id(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    assert_int_equal(add_string(p, ""), 0);
    uint32_t a = add_string(p, "alpha");
    uint32_t b = add_string(p, "beta");
    assert_int_not_equal(a, b);
    assert_int_equal(add_string(p, "alpha"), a);
    assert_string_equal(kymo_profile_string(p, a), "alpha");
    assert_int_equal(kymo_profile_string_len(p, b), 4);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_STRINGS), 3);
    assert_int_equal(kymo_profile_find_string(p, "beta", 4), b);
    assert_int_equal(kymo_profile_find_string(p, "bet", 3), KYMO_NONE);
    assert_int_equal(kymo_profile_find_string(p, "", 0), 0);
    assert_string_equal(kymo_profile_string(p, 99), "");
    assert_int_equal(kymo_profile_string_len(p, KYMO_NONE), 0);
    kymo_profile_destroy(p);
}

static void many_strings_keep_their_text(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    char text[32];
    for (unsigned i = 0; i < 50000; i++) {
        snprintf(text, sizeof text, "string %u", i);
        assert_int_equal(add_string(p, text), i + 1);
    }
    for (unsigned i = 0; i < 50000; i += 7) {
        snprintf(text, sizeof text, "string %u", i);
        assert_string_equal(kymo_profile_string(p, i + 1), text);
        assert_int_equal(add_string(p, text), i + 1);
    }
    kymo_profile_destroy(p);
}

static void what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id;
    ok(kymo_profile_add_string(p, "a\xff\xc3\xa9\x80", 5, &id));
    assert_string_equal(kymo_profile_string(p, id), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    ok(kymo_profile_add_string(p, "a\0b\0", 4, &id));
    assert_string_equal(kymo_profile_string(p, id), "a\xef\xbf\xbd"
                                                    "b\xef\xbf\xbd");
    assert_int_equal(kymo_profile_string_len(p, id), 8);
    assert_int_equal(kymo_profile_add_string(p, NULL, 3, &id), KYMO_E_INVALID);
    ok(kymo_profile_add_string(p, NULL, 0, &id));
    assert_int_equal(id, 0);
    kymo_profile_destroy(p);
}

static void long_text_is_cut_on_a_character(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    static char text[3 * KYMO_STRING_MAX];
    uint32_t id;
    for (size_t i = 0; i < sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    ok(kymo_profile_add_string(p, text, sizeof text, &id));
    assert_int_equal(kymo_profile_string_len(p, id), KYMO_STRING_MAX / 3 * 3);
    memset(text, 0, sizeof text); /* NULs grow threefold */
    ok(kymo_profile_add_string(p, text, sizeof text, &id));
    assert_true(kymo_profile_string_len(p, id) <= KYMO_STRING_MAX);
    assert_int_equal(kymo_profile_string_len(p, id) % 3, 0);
    memset(text, 'x', KYMO_STRING_MAX);
    ok(kymo_profile_add_string(p, text, KYMO_STRING_MAX, &id));
    assert_int_equal(kymo_profile_string_len(p, id), KYMO_STRING_MAX);
    kymo_profile_destroy(p);
}

static void limits_hold(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t known = add_string(p, "known");
    uint32_t id = 77;
    p->string_bytes = KYMO_STRING_BYTES_MAX - 2;
    assert_int_equal(kymo_profile_add_string(p, "new", 3, &id), KYMO_E_TOO_BIG);
    assert_int_equal(id, 77);
    assert_int_equal(add_string(p, "known"), known);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_STRINGS), 2);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_text_same_id),
        cmocka_unit_test(many_strings_keep_their_text),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(long_text_is_cut_on_a_character),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
