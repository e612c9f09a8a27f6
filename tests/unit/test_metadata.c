/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metadata.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static void names_have_one_value_each(void **state)
{
    (void)state;
    struct kymo_metadata m = {0};
    OK(kymo_metadata_put(&m, "host.id", "i-0"));
    OK(kymo_metadata_put(&m, "a/b_c-D.9", "x"));
    OK(kymo_metadata_put(&m, "host.id", "i-1"));
    OK(kymo_metadata_put(&m, "empty", ""));
    assert_int_equal(m.n, 2);
    assert_string_equal(kymo_metadata_get(&m, "host.id"), "i-1");
    assert_null(kymo_metadata_get(&m, "empty"));
    assert_int_equal(kymo_metadata_put(&m, "", "x"), KYMO_E_INVALID);
    assert_int_equal(kymo_metadata_put(&m, "a b", "x"), KYMO_E_INVALID);
    assert_int_equal(kymo_metadata_put(&m, "a\r\nb", "x"), KYMO_E_INVALID);
    assert_true(kymo_metadata_is_valid(&m));
}

static void values_are_short_and_printable(void **state)
{
    (void)state;
    struct kymo_metadata m = {0};
    char longest[KYMO_METADATA_VALUE_MAX * 2];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    OK(kymo_metadata_put(&m, "long", longest));
    assert_int_equal(strlen(kymo_metadata_get(&m, "long")), KYMO_METADATA_VALUE_MAX - 1);
    OK(kymo_metadata_put(&m, "lines", "a\r\nb\x1b[0m"));
    assert_string_equal(kymo_metadata_get(&m, "lines"), "a??b?[0m");
    OK(kymo_metadata_put(&m, "bytes", "a\xff"));
    assert_string_equal(kymo_metadata_get(&m, "bytes"), "a\xef\xbf\xbd");
    char name[KYMO_METADATA_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(kymo_metadata_put(&m, name, "x"), KYMO_E_INVALID);
    for (unsigned i = 0; m.n < KYMO_METADATA_MAX; i++) {
        snprintf(name, sizeof name, "n%u", i);
        OK(kymo_metadata_put(&m, name, "x"));
    }
    assert_int_equal(kymo_metadata_put(&m, "more", "x"), KYMO_E_FULL);
    OK(kymo_metadata_put(&m, "n0", "y"));
    assert_true(kymo_metadata_is_valid(&m));
}

static void a_list_is_percent_decoded(void **state)
{
    (void)state;
    struct kymo_metadata m = {0};
    kymo_metadata_offer_list(&m, "service.name=shop, deployment.environment.name = a%2Cb%20c,,bad,"
                                 "=x,k=%zz,last=1=2,");
    assert_int_equal(m.n, 3);
    assert_string_equal(kymo_metadata_get(&m, "service.name"), "shop");
    assert_string_equal(kymo_metadata_get(&m, "deployment.environment.name"), " a,b c");
    assert_string_equal(kymo_metadata_get(&m, "last"), "1=2");
}

static void what_another_process_wrote_is_checked(void **state)
{
    (void)state;
    struct kymo_metadata m = {0};
    OK(kymo_metadata_put(&m, "a", "x"));
    assert_true(kymo_metadata_is_valid(&m));
    struct kymo_metadata broken = m;
    broken.n = KYMO_METADATA_MAX + 1;
    assert_false(kymo_metadata_is_valid(&broken));
    broken = m;
    memset(broken.items[0].name, 'a', sizeof broken.items[0].name);
    assert_false(kymo_metadata_is_valid(&broken));
    broken = m;
    memset(broken.items[0].value, 'a', sizeof broken.items[0].value);
    assert_false(kymo_metadata_is_valid(&broken));
    broken = m;
    broken.items[0].value[0] = (char)0xff;
    assert_false(kymo_metadata_is_valid(&broken));
    broken = m;
    broken.n = 2;
    assert_false(kymo_metadata_is_valid(&broken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_value_each),
        cmocka_unit_test(values_are_short_and_printable),
        cmocka_unit_test(a_list_is_percent_decoded),
        cmocka_unit_test(what_another_process_wrote_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
