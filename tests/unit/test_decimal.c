/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"
#include "unit.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_fixed(uint64_t value, unsigned digits, const char *expected)
{
    char text[KYMO_DECIMAL_MAX + 1];
    char *end = kymo_decimal_fixed(text, value, digits);
    assert_true(end <= text + KYMO_DECIMAL_MAX);
    *end = '\0';
    assert_string_equal(text, expected);
}

static void integers_equal_printf(void **state)
{
    (void)state;
    char text[KYMO_DECIMAL_MAX + 1];
    char expected[32];
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t value = i < 64 ? 1ull << i : i < 1100 ? (uint64_t)i - 64 : random >> (i % 64);
        *kymo_decimal_u64(text, value) = '\0';
        snprintf(expected, sizeof expected, "%" PRIu64, value);
        assert_string_equal(text, expected);
        *kymo_decimal_i64(text, (int64_t)(0 - value)) = '\0';
        snprintf(expected, sizeof expected, "%" PRId64, (int64_t)(0 - value));
        assert_string_equal(text, expected);
    }
    *kymo_decimal_i64(text, INT64_MIN) = '\0';
    assert_string_equal(text, "-9223372036854775808");
    *kymo_decimal_u64(text, UINT64_MAX) = '\0';
    assert_string_equal(text, "18446744073709551615");
}

static void milliseconds_keep_each_nanosecond(void **state)
{
    (void)state;
    check_fixed(0, 6, "0");
    check_fixed(1, 6, "0.000001");
    check_fixed(10, 6, "0.00001");
    check_fixed(1000000, 6, "1");
    check_fixed(1500000, 6, "1.5");
    check_fixed(1000001, 6, "1.000001");
    check_fixed(123456789, 6, "123.456789");
    check_fixed(1700000000123456789u, 6, "1700000000123.456789");
    check_fixed(UINT64_MAX, 6, "18446744073709.551615");
    check_fixed(42, 0, "42");
    check_fixed(UINT64_MAX, 18, "18.446744073709551615");
}

static void check_f64(double value, const char *expected)
{
    char text[KYMO_DECIMAL_MAX + 1];
    char *end = kymo_decimal_f64(text, value);
    assert_true(end <= text + KYMO_DECIMAL_MAX);
    *end = '\0';
    assert_string_equal(text, expected);
}

/* The shortest that is read back as the same; of the longest ones all fits. */
static void doubles_are_read_back(void **state)
{
    (void)state;
    check_f64(0, "0");
    check_f64(0.1, "0.1");
    check_f64(1.0 / 3, "0.3333333333333333");
    check_f64(9007199254740993.0, "9007199254740992");
    check_f64(1e21, "1e+21");
    check_f64(-1.7976931348623157e308, "-1.7976931348623157e+308");
    check_f64(-2.2250738585072014e-308, "-2.2250738585072014e-308");
    check_f64(5e-324, "4.94065645841247e-324");
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        char text[KYMO_DECIMAL_MAX + 1];
        double value;
        random = random * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &random, sizeof value);
        if (!isfinite(value))
            continue;
        *kymo_decimal_f64(text, value) = '\0';
        assert_true(strtod(text, NULL) == value);
    }
}

/* "1,5" is two numbers in JSON. */
static void the_locale_has_no_say(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
        if (setlocale(LC_NUMERIC, locales[i]))
            check_f64(-1.5e-7, "-1.5e-07");
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_equal_printf),
        cmocka_unit_test(milliseconds_keep_each_nanosecond),
        cmocka_unit_test(doubles_are_read_back),
        cmocka_unit_test(the_locale_has_no_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
