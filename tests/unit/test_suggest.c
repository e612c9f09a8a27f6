/* SPDX-License-Identifier: Apache-2.0 */
#include "options/options.h"

#include <string.h>

#include "unit.h"

static const char *near(const char *word)
{
    static const char *const known[] = {"record", "report", "convert", "doctor", "cpu", "engine"};
    struct kymo_suggestion s;
    kymo_suggest_start(&s, word, strlen(word));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        kymo_suggest_try(&s, known[i]);
    return kymo_suggest_best(&s);
}

static void slips_are_recognized(void **state)
{
    (void)state;
    assert_string_equal(near("recrod"), "record");
    assert_string_equal(near("reprot"), "report");
    assert_string_equal(near("cup"), "cpu");
    assert_string_equal(near("converts"), "convert");
    assert_string_equal(near("doc"), "doctor");
    assert_string_equal(near("enigne"), "engine");
}

static void other_words_are_not(void **state)
{
    (void)state;
    assert_null(near(""));
    assert_null(near("x"));
    assert_null(near("frobnicate"));
    assert_null(near("gpu2"));
    assert_null(near("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_recognized),
        cmocka_unit_test(other_words_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
