/* SPDX-License-Identifier: Apache-2.0 */
#include "base/word_list.h"

#include <string.h>

#include "base/attr.h"
#include "unit.h"

static void lists_are_words_with_colons_between(void **state)
{
    static const char *const good[] = {
        "",    "all",    "none",      "all:-net:disk/read", "-net",
        "a-b", "a b:c.", "none:none", "nones:-nonet",       "\xc3\xa4:-\xff",
    };
    (void)state;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(good); i++)
        if (!kymo_word_list_is(good[i], strlen(good[i])))
            fail_msg("\"%s\" is not taken for a list", good[i]);
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const bad[] = {
        ":",     "net:",      ":net", "net::disk", "-",     "net:-", "--net",
        "-none", "net:-NONE", "a,b",  "a\nb",      "a\x7f", "\t",    "net:-:disk",
    };
    (void)state;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++)
        if (kymo_word_list_is(bad[i], strlen(bad[i])))
            fail_msg("\"%s\" is taken for a list", bad[i]);
    assert_false(kymo_word_list_is("a\0b", 3));
    /* No byte behind the end is looked at. */
    assert_true(kymo_word_list_is("net:", 3));
    assert_false(kymo_word_list_is("net:disk", 4));
}

static void words_come_one_by_one(void **state)
{
    struct kymo_word word;
    const char *at = "all:-Disk/read";
    (void)state;
    assert_int_equal(kymo_word_list_next(&at, &word), 1);
    assert_true(kymo_word_is(&word, "ALL") && !word.is_off);
    assert_int_equal(kymo_word_list_next(&at, &word), 1);
    assert_true(kymo_word_is(&word, "disk/read") && word.is_off);
    assert_false(kymo_word_is(&word, "disk/rea") || kymo_word_is(&word, "disk/read "));
    assert_int_equal(kymo_word_list_next(&at, &word), 0);
    at = "";
    assert_int_equal(kymo_word_list_next(&at, &word), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_words_with_colons_between),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(words_come_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
