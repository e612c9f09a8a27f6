/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/firefox_marks.h"

#include <math.h>
#include <string.h>

#include "profile_fixture.h"

static kymo_profile *p;

static int setup(void **state)
{
    (void)state;
    p = new_profile();
    ok(kymo_profile_set_meta(p,
                             &(kymo_meta){.size = sizeof(kymo_meta), .origin_monotonic_ns = 1000}));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(p);
    return 0;
}

/* What a value becomes as a number of the format; "" if it is none. */
static const char *number(kymo_value value, uint32_t format)
{
    static kymo_json json;
    static char text[64];
    kymo_bytes bytes;
    kymo_firefox_numeric n;
    if (!kymo_firefox_number_of(p, &value, format, &n))
        return "";
    kymo_bytes_init(&bytes, sizeof text - 1);
    kymo_json_init(&json, &bytes.sink);
    kymo_firefox_put_number(&json, &n);
    ok(kymo_json_finish(&json));
    memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    kymo_bytes_deinit(&bytes);
    return text;
}

static const char *text(kymo_value value, uint32_t format)
{
    static char copy[KYMO_FIREFOX_TEXT_MAX + 1];
    char buffer[KYMO_FIREFOX_TEXT_MAX];
    size_t len;
    const char *found = kymo_firefox_text_of(p, &value, format, buffer, &len);
    assert_true(len <= KYMO_FIREFOX_TEXT_MAX);
    memcpy(copy, found, len);
    copy[len] = '\0';
    return copy;
}

#define I64(value) ((kymo_value){.kind = KYMO_VALUE_I64, .as.i64 = (value)})
#define U64(value) ((kymo_value){.kind = KYMO_VALUE_U64, .as.u64 = (value)})
#define F64(value) ((kymo_value){.kind = KYMO_VALUE_F64, .as.f64 = (value)})
#define NS(value) ((kymo_value){.kind = KYMO_VALUE_NS, .as.i64 = (value)})
#define OF(what, value) ((kymo_value){.kind = KYMO_VALUE_##what, .as.u64 = (value)})

static void numbers_are_exact_or_none(void **state)
{
    (void)state;
    assert_string_equal(number(I64(-5), KYMO_FORMAT_INTEGER), "-5");
    assert_string_equal(number(U64(1ull << 53), KYMO_FORMAT_BYTES), "9007199254740992");
    assert_string_equal(number(U64((1ull << 53) + 1), KYMO_FORMAT_BYTES), "");
    assert_string_equal(number(I64(INT64_MIN), KYMO_FORMAT_DECIMAL), "");
    assert_string_equal(number(OF(BOOL, 1), KYMO_FORMAT_INTEGER), "1");
    assert_string_equal(number(F64(0.1), KYMO_FORMAT_PERCENTAGE), "0.1");
    assert_string_equal(number(F64(NAN), KYMO_FORMAT_DECIMAL), "");
    assert_string_equal(number(F64(-INFINITY), KYMO_FORMAT_DECIMAL), "");
    assert_string_equal(number(OF(POINTER, 1), KYMO_FORMAT_HEXADECIMAL), "");
    assert_string_equal(number(OF(FLOW, 1), KYMO_FORMAT_INTEGER), "");
    assert_string_equal(number(OF(STRING, 0), KYMO_FORMAT_INTEGER), "");
    assert_string_equal(number((kymo_value){0}, KYMO_FORMAT_INTEGER), "");
    assert_string_equal(number(I64(5), KYMO_FORMAT_STRING), "");
    assert_string_equal(number(I64(5), KYMO_FORMAT_PID), "");
    assert_string_equal(number(I64(5), KYMO_FORMAT_TID), "5");
    assert_string_equal(number(I64(5), KYMO_FORMAT_LIST), "");
}

/* Whatever a format of time is called, it is stored in ms, but for two. */
static void times_are_in_the_unit_of_the_format(void **state)
{
    (void)state;
    const uint32_t in_ms[] = {KYMO_FORMAT_DURATION, KYMO_FORMAT_TIME, KYMO_FORMAT_SECONDS,
                              KYMO_FORMAT_MILLISECONDS};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(in_ms); i++) {
        assert_string_equal(number(NS(1500001), in_ms[i]), "1.500001");
        assert_string_equal(number(NS(-1), in_ms[i]), "-0.000001");
        assert_string_equal(number(OF(TIME, 501000), in_ms[i]), "0.5");
        assert_string_equal(number(OF(TIME, 10), in_ms[i]), "0"); /* before the zero */
    }
    assert_string_equal(number(NS(1500001), KYMO_FORMAT_MICROSECONDS), "1500.001");
    assert_string_equal(number(NS(1500001), KYMO_FORMAT_NANOSECONDS), "1500001");
    assert_string_equal(number(NS(INT64_MIN), KYMO_FORMAT_NANOSECONDS), "");
    assert_string_equal(number(NS(INT64_MIN), KYMO_FORMAT_DURATION), "-9223372036854.775808");
    assert_string_equal(number(I64(2), KYMO_FORMAT_SECONDS), "2000");
    assert_string_equal(number(F64(1.5), KYMO_FORMAT_SECONDS), "1500");
    assert_string_equal(number(I64(2), KYMO_FORMAT_MILLISECONDS), "2");
    assert_string_equal(number(I64(2), KYMO_FORMAT_MICROSECONDS), "2");
    assert_string_equal(number(U64(1ull << 52), KYMO_FORMAT_SECONDS), "");
}

static void every_value_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(text(U64(UINT64_MAX), KYMO_FORMAT_INTEGER), "18446744073709551615");
    assert_string_equal(text(I64(INT64_MIN), KYMO_FORMAT_INTEGER), "-9223372036854775808");
    assert_string_equal(text(I64(INT64_MIN), KYMO_FORMAT_HEXADECIMAL), "-0x8000000000000000");
    assert_string_equal(text(U64(255), KYMO_FORMAT_HEXADECIMAL), "0xff");
    assert_string_equal(text(OF(BOOL, 1), KYMO_FORMAT_STRING), "true");
    assert_string_equal(text(OF(BOOL, 0), KYMO_FORMAT_STRING), "false");
    assert_string_equal(text(F64(0.1), KYMO_FORMAT_STRING), "0.1");
    assert_string_equal(text(F64(-1.7976931348623157e308), KYMO_FORMAT_STRING),
                        "-1.7976931348623157e+308");
    assert_string_equal(text(F64(NAN), KYMO_FORMAT_STRING), "NaN");
    assert_string_equal(text(F64(-INFINITY), KYMO_FORMAT_STRING), "-Infinity");
    assert_string_equal(text(NS(INT64_MIN), KYMO_FORMAT_STRING), "-9223372036854.775808ms");
    assert_string_equal(text(OF(TIME, 501000), KYMO_FORMAT_STRING), "0.5ms");
    assert_string_equal(text(OF(POINTER, 0xbeef), KYMO_FORMAT_STRING), "0xbeef");
    assert_string_equal(text(OF(FLOW, 0xabc), KYMO_FORMAT_STRING), "0000000000000abc");
    assert_string_equal(text(OF(STRING, add_string(p, "words")), KYMO_FORMAT_STRING), "words");
    assert_string_equal(text((kymo_value){0}, KYMO_FORMAT_STRING), "");
}

static void check_column(const char **at, const char *label, uint32_t format)
{
    kymo_firefox_column c;
    assert_true(kymo_firefox_next_column(at, &c));
    assert_int_equal(c.len, strlen(label));
    assert_memory_equal(c.label, label, c.len);
    assert_int_equal(c.format, format);
}

static void columns_of_a_table(void **state)
{
    (void)state;
    kymo_firefox_column c;
    const char *at = "Name:string|Size:bytes|plain|a:b|x:list|y:unique-string||p:pid|:integer";
    check_column(&at, "Name", KYMO_FORMAT_STRING);
    check_column(&at, "Size", KYMO_FORMAT_BYTES);
    check_column(&at, "plain", KYMO_FORMAT_STRING);
    check_column(&at, "a:b", KYMO_FORMAT_STRING); /* no format is called so */
    check_column(&at, "x", KYMO_FORMAT_STRING);
    check_column(&at, "y", KYMO_FORMAT_STRING);
    check_column(&at, "", KYMO_FORMAT_STRING);
    check_column(&at, "p", KYMO_FORMAT_PID);
    check_column(&at, "", KYMO_FORMAT_INTEGER);
    assert_false(kymo_firefox_next_column(&at, &c));
    at = "";
    assert_false(kymo_firefox_next_column(&at, &c));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(numbers_are_exact_or_none),
        T(times_are_in_the_unit_of_the_format),
        T(every_value_has_a_text),
        T(columns_of_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
