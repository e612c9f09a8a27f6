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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_words_with_colons_between),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
