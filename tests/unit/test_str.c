/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "unit.h"

static void append_and_printf(void **state)
{
    (void)state;
    kymo_str s = {0};
    assert_string_equal(kymo_str_cstr(&s), "");
    for (int i = 0; i < 1000; i++)
        kymo_str_printf(&s, "%d,", i % 10);
    kymo_str_puts(&s, "end");
    assert_int_equal(s.len, 2003);
    assert_int_equal(strlen(kymo_str_cstr(&s)), 2003);
    assert_false(s.failed);
    kymo_str_deinit(&s);
}

static void utf8_is_made_valid(void **state)
{
    (void)state;
    char out[64];
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"plain", "plain"},
        {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong NUL */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}, /* cut */
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        kymo_utf8_copy(out, sizeof out, cases[i].in, strlen(cases[i].in));
        assert_string_equal(out, cases[i].out);
        assert_int_equal(kymo_utf8_valid_prefix(out, strlen(out)), strlen(out));
    }
    assert_int_equal(kymo_utf8_copy(out, 4, "ab\xc3\xa9", 4), 2);
    assert_string_equal(out, "ab");
}

static void code_points_become_utf8(void **state)
{
    (void)state;
    static const struct {
        uint32_t code;
        const char *text;
    } cases[] = {
        {0x7f, "\x7f"},
        {0x80, "\xc2\x80"},
        {0x7ff, "\xdf\xbf"},
        {0x800, "\xe0\xa0\x80"},
        {0xffff, "\xef\xbf\xbf"},
        {0x10000, "\xf0\x90\x80\x80"},
        {0x10ffff, "\xf4\x8f\xbf\xbf"},
        {0x110000, "\xef\xbf\xbd"}, /* what is no code point */
        {0xd800, "\xef\xbf\xbd"},
        {0xdfff, "\xef\xbf\xbd"},
        {UINT32_MAX, "\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[4];
        assert_int_equal(kymo_utf8_encode(out, cases[i].code), strlen(cases[i].text));
        assert_memory_equal(out, cases[i].text, strlen(cases[i].text));
    }
}

static void numbers(void **state)
{
    (void)state;
    uint64_t v = 7;
    assert_int_equal(kymo_parse_u64("18446744073709551615", 20, &v), KYMO_OK);
    assert_true(v == UINT64_MAX);
    assert_int_equal(kymo_parse_u64("18446744073709551616", 20, &v), KYMO_E_RANGE);
    assert_int_equal(kymo_parse_u64("", 0, &v), KYMO_E_INVALID);
    assert_int_equal(kymo_parse_u64("-1", 2, &v), KYMO_E_INVALID);
    assert_int_equal(kymo_parse_u64("1x", 2, &v), KYMO_E_INVALID);
    char buf[32];
    assert_string_equal(kymo_format_bytes(buf, 1536), "1.5 KiB");
    assert_string_equal(kymo_format_bytes(buf, 32u << 20), "32 MiB");
    assert_string_equal(kymo_format_duration(buf, 1500000), "1.5 ms");
    assert_string_equal(kymo_format_duration(buf, 999499), "999 us");
    assert_string_equal(kymo_format_duration(buf, 999500), "1 ms");
    assert_string_equal(kymo_format_duration(buf, 999499999), "999 ms");
    assert_string_equal(kymo_format_duration(buf, 999500000), "1.00 s");
}

static void nothing_reaches_the_terminal_but_text(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"", ""},
        {"plain text, \xc3\xa9t\xc3\xa9 \xe2\x86\x92",
         "plain text, \xc3\xa9t\xc3\xa9 \xe2\x86\x92"},
        {"\033]0;title\007\033[2J", "?]0;title??[2J"},
        {"a\nkymo: b\r\t\x7f", "a?kymo: b???"},
        {"\xc2\x9b"
         "2J",
         "?2J"}, /* the same sequence, begun in one character */
        {"\x9b"
         "2J",
         "?2J"}, /* and in one byte */
        {"\xe2\x80\xae"
         "fdp.exe",
         "?fdp.exe"},
        {"\xe2\x82", "??"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        char text[64];
        strcpy(text, cases[i].in);
        text[kymo_text_make_printable(text, strlen(text))] = '\0';
        assert_string_equal(text, cases[i].out);
    }
}

static void lines_are_printed_as_they_are_meant(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    kymo_fprint(f, "\nkymo: %s: %d\n", "a\033[31m\n", 7);
    kymo_fprint(f, "%s", "");
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "\nkymo: a?[31m?: 7\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_and_printf),
        cmocka_unit_test(utf8_is_made_valid),
        cmocka_unit_test(code_points_become_utf8),
        cmocka_unit_test(nothing_reaches_the_terminal_but_text),
        cmocka_unit_test(lines_are_printed_as_they_are_meant),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
