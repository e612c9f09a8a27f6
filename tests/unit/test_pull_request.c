/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pull_request.h"

#include <string.h>

#include "empty_folder.h"
#include "kymo/encode.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define TOKEN "0123456789abcdef"

static void paths_are_found_exactly(void **state)
{
    static const char *const unknown[] = {
        "",          "/",       "/debug/pprof",          "/debug/pprof/heap/",
        "/metrics2", "metrics", "/debug/pprof/goroutine"};
    (void)state;
    assert_int_equal(kymo_pull_find("/debug/pprof/profile")->show, KYMO_CONTROL_SHOW_CPU);
    assert_int_equal(kymo_pull_find("/debug/pprof/heap")->kind, KYMO_PULL_HEAP);
    assert_int_equal(kymo_pull_find("/metrics")->kind, KYMO_PULL_METRICS);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(kymo_pull_find(unknown[i])->kind, KYMO_PULL_UNKNOWN);
    for (const struct kymo_pull_path *row = kymo_pull_paths; row->path; row++) {
        assert_ptr_equal(kymo_pull_find(row->path), row);
        if (row->kind == KYMO_PULL_HEAP || row->kind == KYMO_PULL_PROFILE) {
            assert_non_null(kymo_format_for_path(row->format));
            assert_true(strlen(row->format) < sizeof((struct kymo_control_request *)NULL)->format);
        }
    }
}

static void seconds_are_a_number(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{NULL, 30000000000ull}, {"", 30000000000ull},   {"0", 30000000000ull},
                {"5", 5000000000ull},   {"0.25", 250000000ull}, {"3600", 3600000000000ull}};
    static const char *const wrong[] = {"-1",    "3601", "1s",
                                        "1e3",   " 1",   "nan",
                                        "1.2.3", ".",    "99999999999999999999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t ns = 1;
        OK(kymo_pull_parse_seconds(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t ns = 7;
        if (kymo_pull_parse_seconds(wrong[i], &ns) != KYMO_E_INVALID)
            fail_msg("'%s' was taken", wrong[i]);
        assert_int_equal(ns, 7);
    }
}

static void a_name_of_another_site_is_not_local(void **state)
{
    static const char *const local[] = {NULL,        "",           "localhost",  "LOCALHOST:80",
                                        "127.0.0.1", "10.1.2.3:4", "[::1]:6060", "[fe80::1]"};
    static const char *const other[] = {"example.com",   "example.com:6060", "localhost.evil.net",
                                        "127.0.0.1.org", "[example]:1",      "127.0.0.1@evil"};
    (void)state;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        assert_true(kymo_pull_host_is_local(local[i]));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(kymo_pull_host_is_local(other[i]));
}

static void a_token_is_a_line_of_a_file(void **state)
{
    char token[KYMO_PULL_TOKEN_MAX];
    char text[400];
    kymo_error detail;
    (void)state;
    put("good", TOKEN "\n");
    OK(kymo_pull_read_token("good", token, &detail));
    assert_string_equal(token, TOKEN);
    put("bare", TOKEN);
    OK(kymo_pull_read_token("bare", token, &detail));
    assert_string_equal(token, TOKEN);
    static const char *const wrong[] = {"", "short\n", TOKEN " " TOKEN, TOKEN "\n" TOKEN "\n",
                                        TOKEN "\x7f"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put("wrong", wrong[i]);
        assert_int_equal(kymo_pull_read_token("wrong", token, &detail), KYMO_E_INVALID);
        assert_null(strstr(detail.message, TOKEN));
    }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    put("wrong", text);
    assert_int_equal(kymo_pull_read_token("wrong", token, &detail), KYMO_E_INVALID);
    text[KYMO_PULL_TOKEN_MAX - 1] = '\0';
    put("longest", text);
    OK(kymo_pull_read_token("longest", token, &detail));
    assert_int_not_equal(kymo_pull_read_token("none", token, &detail), KYMO_OK);
}

static void who_has_the_token_may(void **state)
{
    static const char *const wrong[] = {
        NULL,
        "",
        "Bearer",
        "Bearer ",
        TOKEN,
        "Basic " TOKEN,
        "Bearer " TOKEN "0",
        "Bearer 0123456789abcde",
        "Bearer 0123456789abcdeF",
        "Bearer " TOKEN TOKEN,
    };
    (void)state;
    assert_true(kymo_pull_may("Bearer " TOKEN, TOKEN));
    assert_true(kymo_pull_may("bearer " TOKEN, TOKEN));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(kymo_pull_may(wrong[i], TOKEN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_found_exactly),
        cmocka_unit_test(seconds_are_a_number),
        cmocka_unit_test(a_name_of_another_site_is_not_local),
        cmocka_unit_test_setup_teardown(a_token_is_a_line_of_a_file, enter, leave),
        cmocka_unit_test(who_has_the_token_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
