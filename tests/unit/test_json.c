/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static kymo_json json;
static kymo_bytes bytes;

static int start(void **state)
{
    (void)state;
    kymo_bytes_init(&bytes, 1 << 24);
    kymo_json_init(&json, &bytes.sink);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    kymo_bytes_deinit(&bytes);
    return 0;
}

static void check(const char *expected)
{
    assert_int_equal(kymo_json_finish(&json), KYMO_OK);
    assert_int_equal(bytes.len, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.len);
}

static void commas_come_by_themselves(void **state)
{
    (void)state;
    kymo_json_begin_object(&json);
    kymo_json_key(&json, "a");
    kymo_json_begin_array(&json);
    kymo_json_u64(&json, 1);
    kymo_json_i64(&json, -2);
    kymo_json_null(&json);
    kymo_json_bool(&json, 1);
    kymo_json_bool(&json, 0);
    kymo_json_begin_object(&json);
    kymo_json_end_object(&json);
    kymo_json_begin_array(&json);
    kymo_json_end_array(&json);
    kymo_json_ms(&json, 1500000);
    kymo_json_end_array(&json);
    kymo_json_key_u64(&json, "b", 3);
    kymo_json_key_cstr(&json, "c", "d");
    kymo_json_end_object(&json);
    check("{\"a\":[1,-2,null,true,false,{},[],1.5],\"b\":3,\"c\":\"d\"}");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    kymo_json_begin_array(&json);
    kymo_json_cstr(&json, "");
    kymo_json_cstr(&json, "\"\\/");
    kymo_json_cstr(&json, "\n\t\r\b\x01\x1f\x7f");
    kymo_json_cstr(&json, "caf\xc3\xa9 \xf0\x9f\x99\x82");
    kymo_json_string(&json, "a\0b", 3);
    kymo_json_string_begin(&json);
    kymo_json_string_part(&json, "one", 3);
    kymo_json_string_part(&json, "\"", 1);
    kymo_json_string_end(&json);
    kymo_json_end_array(&json);
    check("[\"\",\"\\\"\\\\/\",\"\\n\\t\\r\\u0008\\u0001\\u001f\x7f\",\"caf\xc3\xa9 "
          "\xf0\x9f\x99\x82\",\"a\\u0000b\",\"one\\\"\"]");
}

static void numbers_of_all_kinds(void **state)
{
    (void)state;
    kymo_json_begin_object(&json);
    kymo_json_string(&json, "a \"key\"", 7);
    kymo_json_string_was_key(&json);
    kymo_json_begin_array(&json);
    kymo_json_f64(&json, 0.1);
    kymo_json_f64(&json, -2);
    kymo_json_f64(&json, 1e300);
    kymo_json_f64(&json, (double)__builtin_inff());
    kymo_json_f64(&json, (double)__builtin_nanf(""));
    kymo_json_signed_fixed(&json, 1, 1500001, 6);
    kymo_json_signed_fixed(&json, 1, UINT64_MAX, 0);
    kymo_json_signed_fixed(&json, 1, 0, 0);
    kymo_json_signed_fixed(&json, 0, 5, 1);
    kymo_json_end_array(&json);
    kymo_json_end_object(&json);
    check("{\"a \\\"key\\\"\":[0.1,-2,1e+300,null,null,-1.500001,-18446744073709551615,0,0.5]}");
}

static void times_since_1970(void **state)
{
    (void)state;
    kymo_json_begin_object(&json);
    kymo_json_key_time(&json, "a", 1764202470123456789ull);
    kymo_json_key_time(&json, "b", 1);
    kymo_json_key_time(&json, "c", 0);
    kymo_json_end_object(&json);
    check("{\"a\":\"2025-11-27T00:14:30.123Z\",\"b\":\"1970-01-01T00:00:00.000Z\",\"c\":null}");
}

static void more_than_the_buffer(void **state)
{
    (void)state;
    enum { N = 300000 };
    char *text = malloc(N);
    memset(text, 'x', N);
    for (size_t i = 0; i < N; i += 1000)
        text[i] = '"';
    kymo_json_string(&json, text, N);
    assert_int_equal(kymo_json_finish(&json), KYMO_OK);
    assert_int_equal(bytes.len, N + N / 1000 + 2);
    size_t at = 1;
    for (size_t i = 0; i < N; i++) {
        if (text[i] == '"')
            assert_int_equal(bytes.data[at++], '\\');
        assert_int_equal(bytes.data[at++], text[i]);
    }
    free(text);
}

static void numbers_fill_the_buffer_exactly(void **state)
{
    (void)state;
    kymo_json_begin_array(&json);
    for (uint64_t i = 0; i < 100000; i++)
        kymo_json_u64(&json, i);
    kymo_json_end_array(&json);
    assert_int_equal(kymo_json_finish(&json), KYMO_OK);
    assert_int_equal(kymo_bytes_append(&bytes, "", 1), KYMO_OK);
    char *p = (char *)bytes.data;
    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(*p, i ? ',' : '[');
        assert_int_equal(strtoull(p + 1, &p, 10), i);
    }
    assert_string_equal(p, "]");
}

static void the_first_error_stays(void **state)
{
    (void)state;
    bytes.limit = 10;
    for (int i = 0; i < 100000; i++)
        kymo_json_u64(&json, 123456);
    assert_int_equal(kymo_json_finish(&json), KYMO_E_TOO_BIG);
    bytes.limit = 1 << 24;
    assert_int_equal(kymo_json_finish(&json), KYMO_E_TOO_BIG);
    assert_int_equal(bytes.len, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        T(commas_come_by_themselves),
        T(strings_are_escaped),
        T(more_than_the_buffer),
        T(numbers_of_all_kinds),
        T(numbers_fill_the_buffer_exactly),
        T(times_since_1970),
        T(the_first_error_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
