/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static kymo_json_read of(const char *text)
{
    return kymo_json_read_at(text, strlen(text), 0);
}

static void objects_and_arrays(void **state)
{
    (void)state;
    kymo_json_read j = of(" { \"a\" : [1, -2.5,null , 3e2], \"b\":{}, \"c\":[] ,\"d\":true} ");
    kymo_json_text key;
    assert_int_equal(kymo_json_enter(&j, '{'), 1);
    assert_int_equal(kymo_json_next_member(&j, &key), 1);
    assert_true(kymo_json_is_text(&key, "a"));
    kymo_json_enter(&j, '[');
    assert_int_equal(kymo_json_next_element(&j), 1);
    assert_int_equal(kymo_json_read_scaled(&j, 0), 1);
    assert_int_equal(kymo_json_next_element(&j), 1);
    assert_int_equal(kymo_json_read_scaled(&j, 3), -2500);
    assert_int_equal(kymo_json_next_element(&j), 1);
    assert_int_equal(kymo_json_take_null(&j), 1);
    assert_int_equal(kymo_json_next_element(&j), 1);
    assert_int_equal(kymo_json_read_scaled(&j, 1), 3000);
    assert_int_equal(kymo_json_next_element(&j), 0);
    for (const char *name = "bcd"; *name; name++) {
        assert_int_equal(kymo_json_next_member(&j, &key), 1);
        assert_int_equal(key.data[0], *name);
        if (*name == 'd')
            assert_int_equal(kymo_json_read_bool(&j), 1);
        else
            kymo_json_skip(&j);
    }
    assert_int_equal(kymo_json_next_member(&j, &key), 0);
    assert_int_equal(kymo_json_peek(&j), 0);
    assert_int_equal(j.failed, 0);
}

static void numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned digits;
        int64_t value;
    } rows[] = {
        {"16250.000010", 6, 16250000010},
        {"0.0000014", 6, 1},
        {"0.0000015", 6, 2},
        {"-0.0000025", 6, -3},
        {"1e3", 6, 1000000000},
        {"123", 6, 123000000},
        {"9223372036854775807", 0, INT64_MAX},
        {"1e300", 0, INT64_MAX},
        {"-1e300", 3, INT64_MIN},
        {"99999999999999999999", 0, INT64_MAX},
        {"0", 9, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kymo_json_read j = of(rows[i].text);
        int64_t value = kymo_json_read_scaled(&j, rows[i].digits);
        if (value != rows[i].value || j.failed)
            fail_msg("%s became %lld", rows[i].text, (long long)value);
    }
}

static void escapes_are_taken_out(void **state)
{
    (void)state;
    kymo_json_read j = of("\"a\\n\\\"\\\\\\u00e9\\ud83d\\ude00\\ud83dx\"");
    kymo_json_text text;
    char out[64];
    kymo_json_read_text(&j, &text);
    assert_int_equal(j.failed, 0);
    assert_true(text.has_escapes);
    size_t len = kymo_json_unescape(&text, out);
    out[len] = '\0';
    assert_true(len <= text.len);
    assert_string_equal(out, "a\n\"\\\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx");
}

static void faults_are_found(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\":1,}", "[1,]",    "[1 2]",       "{\"a\" 1}", "{a:1}",  "[1",
        "\"a",        "\"\\x\"", "\"\\u12g4\"", "tru",       "nul",    "-",
        "1.2.3",      "[1}",     "{\"a\":}",    "",          "]",      "{\"a\":1 \"b\":2}",
        "\"\\",       "1e",      "\"\\u00",     "+1",        "[,5]",   "[1,2,,3]",
        "[[1],,2]",   "[1,2 3]", "[1,-2,3",     "[1,2,]",    "[[,5]]", "{\"a\":[1,2],3}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kymo_json_read j = of(texts[i]);
        kymo_json_skip(&j);
        int64_t value = 0;
        if (!j.failed) { /* a number is looked at when it is read */
            j = of(texts[i]);
            value = kymo_json_read_scaled(&j, 0);
        }
        if (!j.failed)
            fail_msg("'%s' is valid (%lld)", texts[i], (long long)value);
        size_t at = j.at;
        kymo_json_skip(&j);
        assert_int_equal(j.at, at);
    }
}

static void what_is_skipped_ends_at_its_end(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "[1]",
        "[1,2,3]",
        "[0,-1,2.5e3, 4,\n5,6]",
        "[[1,2],3,[4,5],6,7]",
        "[\"a,1\",2,3,null,4]",
        "{\"a\":[1,2],\"b\":3}",
        "[{\"a\":1,\"b\":[2,3]},4,5]",
        "7",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s,8", texts[i]);
        kymo_json_read j = of(text);
        kymo_json_skip(&j);
        assert_int_equal(j.failed, 0);
        assert_int_equal(j.at, strlen(texts[i]));
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[3 * KYMO_JSON_DEPTH_MAX];
    memset(text, '[', KYMO_JSON_DEPTH_MAX);
    memset(text + KYMO_JSON_DEPTH_MAX, ']', KYMO_JSON_DEPTH_MAX);
    kymo_json_read j = kymo_json_read_at(text, 2 * KYMO_JSON_DEPTH_MAX, 0);
    kymo_json_skip(&j);
    assert_int_equal(j.failed, 0);
    assert_int_equal(j.at, 2 * KYMO_JSON_DEPTH_MAX);
    memset(text, '[', KYMO_JSON_DEPTH_MAX + 1);
    j = kymo_json_read_at(text, sizeof text, 0);
    kymo_json_skip(&j);
    assert_int_equal(j.failed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(escapes_are_taken_out),
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(what_is_skipped_ends_at_its_end),
        cmocka_unit_test(depth_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
