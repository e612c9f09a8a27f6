/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/firefox/firefox.h"
#include "encode/value_text.h"

#include <math.h>
#include <string.h>

#include "profile_fixture.h"

static kymo_profile *p;

static int setup(void **state)
{
    p = new_profile();
    ok(kymo_profile_set_meta(p,
                             &(kymo_meta){.size = sizeof(kymo_meta), .origin_monotonic_ns = 1000}));
    *state = p;
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
    static char copy[KYMO_VALUE_TEXT_MAX + 1];
    char buffer[KYMO_VALUE_TEXT_MAX];
    size_t len;
    const char *found = kymo_value_text(p, &value, format, buffer, &len);
    assert_true(len <= KYMO_VALUE_TEXT_MAX);
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
    /* What JavaScript would round: 2^53 ns are 104 days. */
    assert_string_equal(number(NS(1ll << 53), KYMO_FORMAT_DURATION), "9007199254.740992");
    assert_string_equal(number(NS(-(1ll << 53) - 1), KYMO_FORMAT_DURATION), "");
    assert_string_equal(number(NS((1ll << 53) + 1), KYMO_FORMAT_MICROSECONDS), "");
    assert_string_equal(number(OF(TIME, (1ull << 53) + 1000), KYMO_FORMAT_TIME),
                        "9007199254.740992");
    assert_string_equal(number(OF(TIME, (1ull << 53) + 1001), KYMO_FORMAT_TIME), "");
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

static kymo_label label(const char *key, kymo_value value)
{
    return (kymo_label){.key = add_string(p, key), .value = value};
}

static kymo_value string(const char *value)
{
    return OF(STRING, add_string(p, value));
}

static void labels_can_be_told_apart(void **state)
{
    const kymo_label labels[] = {label("a", string("b role=admin")),
                                 label("empty", string("")),
                                 label("my key", I64(-1)),
                                 label("plain", string("x:y")),
                                 label("quoted", string("\\ \"b\"")),
                                 label("sum", string("1=1"))};
    static kymo_json json;
    kymo_bytes bytes;
    uint32_t set;
    (void)state;
    ok(kymo_profile_add_label_set(p, labels, KYMO_ARRAY_LEN(labels), &set));
    kymo_bytes_init(&bytes, 4096);
    kymo_json_init(&json, &bytes.sink);
    kymo_firefox_put_labels(&json, p, set);
    ok(kymo_json_finish(&json));
    static const char wanted[] =
        "\"a=\\\"b role=admin\\\" empty=\\\"\\\" \\\"my key\\\"=-1 plain=x:y "
        "quoted=\\\"\\\\\\\\ \\\\\\\"b\\\\\\\"\\\" sum=\\\"1=1\\\"\"";
    assert_int_equal(bytes.len, sizeof wanted - 1);
    assert_memory_equal(bytes.data, wanted, bytes.len);
    kymo_bytes_deinit(&bytes);
}

static void add_markers(uint32_t thread, const char *track, uint32_t count)
{
    kymo_marker m = {.name = add_string(p, "m"),
                     .track = add_string(p, track),
                     .thread = thread,
                     .category = KYMO_NONE,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE};
    for (uint32_t i = 0; i < count; i++)
        ok(kymo_profile_add_marker(p, &m, NULL));
}

/* What is on a track is not in its thread; labels of samples are markers there. */
static void rows_of_a_thread_are_counted(void **state)
{
    kymo_firefox w = {.p = p};
    size_t count;
    (void)state;
    uint32_t thread = add_thread(p, add_process(p, 1, 0), 1, 0);
    add_markers(thread, "", 2);
    add_markers(thread, "Track", 3);
    ok(kymo_firefox_count_thread_markers(&w, thread, &count));
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < 4; i++) {
        kymo_label one = label("request", I64(i / 2));
        uint32_t set;
        ok(kymo_profile_add_label_set(p, &one, 1, &set));
        ok(kymo_profile_add_sample(p, thread, i, KYMO_NONE, 1, KYMO_SAMPLE_CPU,
                                   KYMO_STATE_RUNNING));
        ok(kymo_profile_set_sample_labels(p, thread, i, set));
    }
    ok(kymo_profile_finish(p));
    ok(kymo_firefox_count_thread_markers(&w, thread, &count));
    assert_int_equal(count, 4);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, destroy_profile)
    const struct CMUnitTest tests[] = {
        T(numbers_are_exact_or_none), T(times_are_in_the_unit_of_the_format),
        T(every_value_has_a_text),    T(columns_of_a_table),
        T(labels_can_be_told_apart),  T(rows_of_a_thread_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
