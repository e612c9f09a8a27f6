/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "profile/mark_format.h"

static struct kymo_format_arg i64(int64_t value)
{
    return (struct kymo_format_arg){.kind = KYMO_VALUE_I64, .as.i64 = value};
}

static struct kymo_format_arg u64(uint64_t value)
{
    return (struct kymo_format_arg){.kind = KYMO_VALUE_U64, .as.u64 = value};
}

static struct kymo_format_arg f64(double value)
{
    return (struct kymo_format_arg){.kind = KYMO_VALUE_F64, .as.f64 = value};
}

static struct kymo_format_arg str(const char *text)
{
    return (struct kymo_format_arg){
        .kind = KYMO_VALUE_STRING, .as.text = text, .len = strlen(text)};
}

static struct kymo_format_arg pointer(uint64_t address)
{
    return (struct kymo_format_arg){.kind = KYMO_VALUE_POINTER, .as.u64 = address};
}

static const char *format(const char *text, const struct kymo_format_arg *args, uint32_t count)
{
    static char out[4096];
    int is_cut = 7;
    size_t len = kymo_mark_format(out, sizeof out - 1, text, args, count, &is_cut);
    assert_true(len < sizeof out);
    assert_int_equal(is_cut, 0);
    out[len] = '\0';
    return out;
}

#define shows(expected, text, ...)                                                        \
    do {                                                                                  \
        const struct kymo_format_arg args_[] = {__VA_ARGS__};                             \
        assert_string_equal(format(text, args_, sizeof args_ / sizeof *args_), expected); \
    } while (0)

/* What was recorded of an argument is shown as printf shows the argument. */
#define as_printf(text, cell, value)            \
    do {                                        \
        char expected_[1024];                   \
        snprintf(expected_, 1024, text, value); \
        shows(expected_, text, cell);           \
    } while (0)

static void integers_are_as_printf_has_them(void **state)
{
    (void)state;
    static const int ints[] = {0, 1, -1, 42, -42, 127, 128, 300, -300, 65536, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        int n = ints[i];
        unsigned u = (unsigned)n;
        as_printf("%d", i64(n), n);
        as_printf("[%5i]", i64(n), n);
        as_printf("[%-8d]", i64(n), n);
        as_printf("[%+08d]", i64(n), n);
        as_printf("[% .3d]", i64(n), n);
        as_printf("%hd", i64((short)n), (short)n);
        as_printf("%hhd", i64((signed char)n), (signed char)n);
        as_printf("%u", u64(u), u);
        as_printf("%x", u64(u), u);
        as_printf("%#X", u64(u), u);
        as_printf("%#o", u64(u), u);
        as_printf("%hhx", u64((unsigned char)n), (unsigned char)n);
        as_printf("%hu", u64((unsigned short)n), (unsigned short)n);
        as_printf("%c", i64('a' + (n & 15)), 'a' + (n & 15));
        /* A signed one where the letter is for an unsigned one, which compilers let pass. */
        as_printf("%x", i64(n), u);
    }
    as_printf("%ld", i64(INT64_MIN), (long)INT64_MIN);
    as_printf("%lld", i64(INT64_MAX), (long long)INT64_MAX);
    as_printf("%zu", u64(SIZE_MAX), SIZE_MAX);
    as_printf("%jx", u64(UINT64_MAX), (uintmax_t)UINT64_MAX);
    as_printf("%td", i64(-5), (ptrdiff_t)-5);
    shows("18446744073709551615", "%u", u64(UINT64_MAX)); /* "l" is missing */
    shows("-5000000000", "%d", i64(-5000000000));
    shows("-1", "%d", u64(UINT32_MAX));
}

static void floats_are_as_printf_has_them(void **state)
{
    (void)state;
    static const double values[] = {0, -0.0, 1, 0.1, -2.5, 1e300, 1e-300, 123456789.123};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        as_printf("%f", f64(values[i]), values[i]);
        as_printf("%.2f", f64(values[i]), values[i]);
        as_printf("[%12.3e]", f64(values[i]), values[i]);
        as_printf("[%-12g]", f64(values[i]), values[i]);
        as_printf("%#G", f64(values[i]), values[i]);
        as_printf("%a", f64(values[i]), values[i]);
        as_printf("[%+010.1f]", f64(values[i]), values[i]);
    }
    as_printf("%f", f64(-__builtin_inf()), -__builtin_inf());
    as_printf("%E", f64(__builtin_nan("")), __builtin_nan(""));
}

static void texts_stay_whole(void **state)
{
    (void)state;
    as_printf("[%s]", str("abc"), "abc");
    as_printf("[%5s]", str("abc"), "abc");
    as_printf("[%-5s]", str("abc"), "abc");
    as_printf("[%.2s]", str("abc"), "abc");
    as_printf("[%5.0s]", str("abc"), "abc");
    shows("caf", "%.4s", str("caf\xc3\xa9"));
    shows("caf\xc3\xa9", "%.5s", str("caf\xc3\xa9"));
    shows("", "%.3s", str("\xf0\x9f\x98\x80"));
    shows("\xff\xff", "%.2s", str("\xff\xff\xff")); /* no UTF-8: there is nothing to keep whole */
    shows("\xc3\xa9", "%lc", i64(0xe9));
    shows("\xe2\x82\xac", "%C", i64(0x20ac));
    shows("\xef\xbf\xbd", "%lc", i64(-1));
    struct kymo_format_arg cut = str("abc");
    cut.is_cut = 1;
    shows("[abc\xe2\x80\xa6]", "[%s]", cut);
    shows("[ab]", "[%.2s]", cut);
    struct kymo_format_arg null = {.kind = KYMO_VALUE_NONE};
    shows("(null)", "%s", null);
}

static void pointers(void **state)
{
    (void)state;
    shows("0x7fff1234", "%p", pointer(0x7fff1234));
    shows("(nil)", "%p", pointer(0));
    shows("[    0x10]", "[%8p]", pointer(16));
    shows("a pointer text", "a pointer %p", str("text"));
}

static void amounts_and_places(void **state)
{
    (void)state;
    shows("[   42]", "[%*d]", i64(5), i64(42));
    shows("[42   ]", "[%*d]", i64(-5), i64(42));
    shows("[2.500]", "[%.*f]", i64(3), f64(2.5));
    shows("[2.500000]", "[%.*f]", i64(-3), f64(2.5));
    shows("b a", "%2$s %1$s", str("a"), str("b"));
    shows("[    x]", "[%2$*1$s]", i64(5), str("x"));
    shows("100%", "%d%%", i64(100));
}

static void arguments_are_shown_by_their_own_kind(void **state)
{
    (void)state;
    shows("7 text", "%s %d", u64(7), str("text"));
    shows("2.5", "%d", f64(2.5));
    shows("-3", "%f", i64(-3));
    shows("0x10", "%s", pointer(16));
    shows("text", "%c", str("text"));
    shows("7", "%.1s", u64(7));
}

static void hostile_formats_are_shown(void **state)
{
    (void)state;
    shows("%n 5", "%n %d", pointer(1), i64(5)); /* its argument is not the next one's */
    shows("%m 5", "%m %d", i64(5));
    shows("%y 5", "%y %d", u64(1), i64(5));
    shows("5 %d %s", "%d %d %s", i64(5));
    shows("%3$d", "%3$d", i64(5));
    shows("%0$d", "%0$d", i64(5));
    shows("%*d", "%*d", str("no number"), i64(5));
    shows("5%", "%d%", i64(5));
    shows("%-+ #0", "%-+ #0", i64(5));
    shows("%.", "%.", i64(5));
    shows("%99999999999999999999$d", "%99999999999999999999$d", i64(5));
    shows("%llllllllhhq", "%llllllllhhq", i64(5));
    assert_int_equal(strlen(format("%999999999999d", (struct kymo_format_arg[]){i64(5)}, 1)),
                     KYMO_FORMAT_WIDTH_MAX);
    assert_int_equal(strlen(format("%*d", (struct kymo_format_arg[]){i64(INT64_MIN), i64(5)}, 2)),
                     KYMO_FORMAT_WIDTH_MAX);
    assert_int_equal(strlen(format("%.99999f", (struct kymo_format_arg[]){f64(1e308)}, 1)),
                     309 + 1 + KYMO_FORMAT_WIDTH_MAX);
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    const struct kymo_format_arg arg = str("\xf0\x9f\x98\x80\xf0\x9f\x98\x80");
    for (size_t cap = 0; cap <= 12; cap++) {
        char out[16];
        int is_cut = 7;
        memset(out, '#', sizeof out);
        size_t len = kymo_mark_format(out, cap, "a%sb%d", &arg, 1, &is_cut);
        assert_int_equal(is_cut, cap < 12);
        assert_int_equal(len, cap == 0 ? 0 : cap < 5 ? 1 : cap < 9 ? 5 : cap);
        assert_int_equal(kymo_utf8_valid_prefix(out, len), len);
        for (size_t i = len; i < sizeof out; i++)
            assert_int_equal(out[i], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_as_printf_has_them),
        cmocka_unit_test(floats_are_as_printf_has_them),
        cmocka_unit_test(texts_stay_whole),
        cmocka_unit_test(pointers),
        cmocka_unit_test(amounts_and_places),
        cmocka_unit_test(arguments_are_shown_by_their_own_kind),
        cmocka_unit_test(hostile_formats_are_shown),
        cmocka_unit_test(what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
