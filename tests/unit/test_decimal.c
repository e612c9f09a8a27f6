/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/decimal.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_equal_printf),
        cmocka_unit_test(milliseconds_keep_each_nanosecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
