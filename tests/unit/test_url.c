/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/url.h"

#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static void part_is(struct kymo_url_part part, const char *expected)
{
    if (!kymo_url_is(part, expected))
        fail_msg("\"%.*s\" is not \"%s\"", (int)part.len, part.data, expected);
}

static void a_url_has_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int is_https;
        const char *authority;
        const char *host;
        uint32_t port;
        const char *path;
        const char *query;
    } urls[] = {
        {"https://h.example", 1, "h.example", "h.example", 443, "", ""},
        {"http://h/", 0, "h", "h", 80, "/", ""},
        {"http://127.0.0.1:8080/a/b?c=d&e", 0, "127.0.0.1:8080", "127.0.0.1", 8080, "/a/b",
         "c=d&e"},
        {"https://[::1]:9/x", 1, "[::1]:9", "::1", 9, "/x", ""},
        {"http://[fd00:ec2::23]/x", 0, "[fd00:ec2::23]", "fd00:ec2::23", 80, "/x", ""},
        {"http://h?q", 0, "h", "h", 80, "", "q"},
        {"http://h/a@b?c@d", 0, "h", "h", 80, "/a@b", "c@d"},
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct kymo_url u;
        OK(kymo_url_parse(urls[i].text, &u, NULL));
        assert_int_equal(u.is_https, urls[i].is_https);
        assert_int_equal(u.port, urls[i].port);
        part_is(u.authority, urls[i].authority);
        part_is(u.host, urls[i].host);
        part_is(u.path, urls[i].path);
        part_is(u.query, urls[i].query);
    }
}

static void what_is_no_url_is_refused_without_its_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "ftp://h/",
        "http://",
        "http:///x",
        "http://h:0/",
        "http://h:",
        "http://h:65536/",
        "http://h:8x/",
        "http://[::1/",
        "http://[::1]x/",
        "http://:1",
        "http://h/a b",
        "http://h/#x",
        "http://h/\r\nX: y",
        "http://h\\x/",
        "http://h%41/",
        "http://h/\xc3\xa9",
        "http://secret:word@h/",
        "https://secret@h",
        "HTTP://h/",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kymo_url u;
        kymo_error detail = {0};
        if (kymo_url_parse(wrong[i], &u, &detail) != KYMO_E_INVALID)
            fail_msg("%s is taken", wrong[i]);
        assert_null(strstr(detail.message, "secret"));
        assert_null(strstr(detail.message, "word@"));
    }
}

static void a_query_has_parameters(void **state)
{
    (void)state;
    static const char text[] = "&a=1&&b&c=x=y&=z&";
    struct kymo_url_part rest = {text, strlen(text)};
    struct kymo_url_part name;
    struct kymo_url_part value;
    static const char *const pairs[][2] = {{"a", "1"}, {"b", ""}, {"c", "x=y"}, {"", "z"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_true(kymo_url_next(&rest, &name, &value));
        part_is(name, pairs[i][0]);
        part_is(value, pairs[i][1]);
    }
    assert_false(kymo_url_next(&rest, &name, &value));
}

static void percent_signs_are_written_and_read(void **state)
{
    (void)state;
    static const char text[] = "aZ09-._~/ :=+%&\xc3\xa9";
    static const char encoded[] = "aZ09-._~/%20%3A%3D%2B%25%26%C3%A9";
    char out[64];
    kymo_str s = {0};
    kymo_url_encode(&s, text, strlen(text), "/");
    assert_string_equal(kymo_str_cstr(&s), encoded);
    kymo_str_deinit(&s);
    OK(kymo_url_decode((struct kymo_url_part){encoded, strlen(encoded)}, out, sizeof out));
    assert_string_equal(out, text);
    assert_int_equal(kymo_url_decode((struct kymo_url_part){"%4", 2}, out, sizeof out),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_url_decode((struct kymo_url_part){"%zz", 3}, out, sizeof out),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_url_decode((struct kymo_url_part){"%00", 3}, out, sizeof out),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_url_decode((struct kymo_url_part){"abcd", 4}, out, 4), KYMO_E_TOO_BIG);
    OK(kymo_url_decode((struct kymo_url_part){"abc", 3}, out, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_has_parts),
        cmocka_unit_test(what_is_no_url_is_refused_without_its_text),
        cmocka_unit_test(a_query_has_parameters),
        cmocka_unit_test(percent_signs_are_written_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
