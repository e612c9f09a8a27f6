/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_names.h"
#include "unit.h"

#include <string.h>

static kymo_jfr_names names;
static kymo_arena arena;

static const char *make(const char *prefix, const char *text)
{
    const char *name = kymo_jfr_names_make(&names, &arena, prefix, text);
    assert_non_null(name);
    return name;
}

static int reset(void **state)
{
    (void)state;
    kymo_jfr_names_deinit(&names);
    kymo_arena_deinit(&arena);
    return 0;
}

static void what_is_no_letter_is_an_underscore(void **state)
{
    (void)state;
    assert_string_equal(make("kymo.", "HttpRequest"), "kymo.HttpRequest");
    assert_string_equal(make("", "bytes sent/received"), "bytes_sent_received");
    assert_string_equal(make("", "caf\xc3\xa9!"), "caf_");
    assert_string_equal(make("", "9lives"), "_9lives");
    assert_string_equal(make("", ""), "_");
    assert_string_equal(make("", "a.b\n"), "a_b_");
}

static void no_two_are_the_same(void **state)
{
    (void)state;
    assert_string_equal(make("", "a b"), "a_b");
    assert_string_equal(make("", "a-b"), "a_b_2");
    assert_string_equal(make("", "a b"), "a_b_3");
    assert_string_equal(make("", "a b 2"), "a_b_2_2");
}

static void long_ones_are_cut(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(strlen(make("kymo.marker.", text)), 212);
    assert_int_equal(strlen(make("kymo.marker.", text)), 214);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_no_letter_is_an_underscore, reset),
        cmocka_unit_test_teardown(no_two_are_the_same, reset),
        cmocka_unit_test_teardown(long_ones_are_cut, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
