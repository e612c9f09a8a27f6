/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reporter_target.h"

#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static void a_target_of_s3_has_options(void **state)
{
    (void)state;
    struct kymo_s3_target t;
    OK(kymo_s3_target_parse("profiles", &t, NULL));
    assert_string_equal(t.bucket, "profiles");
    assert_string_equal(t.prefix, "");
    assert_string_equal(t.region, "");
    assert_int_equal(t.style, KYMO_S3_AUTO);
    OK(kymo_s3_target_parse("a-bucket.example/team a/x%20y?region=eu-west-1&owner=123456789012&"
                            "style=virtual&group=my%20group&timeout=5s&"
                            "endpoint=http%3A%2F%2F127.0.0.1:9000/base",
                            &t, NULL));
    assert_string_equal(t.bucket, "a-bucket.example");
    assert_string_equal(t.prefix, "team a/x%20y/");
    assert_string_equal(t.region, "eu-west-1");
    assert_string_equal(t.owner, "123456789012");
    assert_string_equal(t.group, "my group");
    assert_string_equal(t.endpoint, "http://127.0.0.1:9000/base");
    assert_int_equal(t.style, KYMO_S3_VIRTUAL);
    assert_int_equal(t.timeout_ms, 5000);
    OK(kymo_s3_target_parse("bucket/a/b/?style=path", &t, NULL));
    assert_string_equal(t.prefix, "a/b/");
    assert_int_equal(t.style, KYMO_S3_PATH);
    OK(kymo_s3_target_parse("bucket/?", &t, NULL));
    assert_string_equal(t.prefix, "");
}

static void what_no_store_takes_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "/prefix",
        "ab",
        "Bucket/x",
        "buc ket",
        "bucket/\xff",
        "bucket/a\nb",
        "bucket?region=",
        "bucket?region=EU.WEST",
        "bucket?region=a/b",
        "bucket?style=other",
        "bucket?owner=12",
        "bucket?owner=12345678901x",
        "bucket?endpoint=ftp://x",
        "bucket?endpoint=https://me:secret@x",
        "bucket?endpoint=https://x?y=z",
        "bucket?timeout=0",
        "bucket?timeout=2h",
        "bucket?colour=red",
        "bucket?group=%zz",
        "bucket?group=a%0ab",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kymo_s3_target t;
        kymo_error detail = {0};
        kymo_err err = kymo_s3_target_parse(wrong[i], &t, &detail);
        /* An empty region is none. */
        if (strcmp(wrong[i], "bucket?region=") == 0)
            OK(err);
        else if (err != KYMO_E_INVALID)
            fail_msg("%s is taken", wrong[i]);
        assert_null(strstr(detail.message, "secret"));
    }
    char text[KYMO_REPORTER_TARGET_MAX * 2];
    struct kymo_s3_target t;
    memset(text, 'a', sizeof text);
    memcpy(text, "bucket/", 7);
    text[sizeof text - 1] = '\0';
    assert_int_equal(kymo_s3_target_parse(text, &t, NULL), KYMO_E_INVALID);
}

static void what_is_ours_leaves_the_url(void **state)
{
    (void)state;
    struct kymo_http_target t;
    OK(kymo_http_target_parse("https://", "h/p", &t, NULL));
    assert_string_equal(t.url, "https://h/p");
    assert_string_equal(t.token_file, "");
    assert_false(t.is_post);
    OK(kymo_http_target_parse(
        "http://", "h:1/p/?a=1&token-file=/run/t%20x&b&method=POST&timeout=1s", &t, NULL));
    assert_string_equal(t.url, "http://h:1/p/?a=1&b");
    assert_string_equal(t.token_file, "/run/t x");
    assert_true(t.is_post);
    assert_int_equal(t.timeout_ms, 1000);
    OK(kymo_http_target_parse("http://", "h?token-file=x", &t, NULL));
    assert_string_equal(t.url, "http://h");
    static const char *const wrong[] = {
        "", "user:secret@h/", "h/?method=GET", "h/?timeout=soon", "h/?token-file=%", "h/#x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kymo_error detail = {0};
        assert_int_equal(kymo_http_target_parse("http://", wrong[i], &t, &detail), KYMO_E_INVALID);
        assert_null(strstr(detail.message, "secret"));
    }
}

static void servers_have_their_own_options_and_ports(void **state)
{
    (void)state;
    static const char *const urls[][3] = {
        {"otlp+http://", "h", "http://h:4318"},
        {"otlp+http://", "h:80/", "http://h:80"},
        {"otlp+http://", "[::1]/a/b//", "http://[::1]:4318/a/b"},
        {"otlp+http://", "[::1]:9/?timeout=1s", "http://[::1]:9"},
        {"otlp+https://", "h/otlp?token-file=x", "https://h/otlp"},
        {"pyroscope+http://", "h?tenant=t", "http://h:4040"},
        {"pyroscope-ingest+https://", "h", "https://h"},
    };
    struct kymo_http_target t;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        OK(kymo_http_target_parse(urls[i][0], urls[i][1], &t, NULL));
        assert_string_equal(t.url, urls[i][2]);
    }
    OK(kymo_http_target_parse("pyroscope+https://",
                              "h?tenant=a%2Cb&user=me&token-file=/t&timeout=2s", &t, NULL));
    assert_string_equal(t.tenant, "a,b");
    assert_string_equal(t.user, "me");
    assert_string_equal(t.token_file, "/t");
    assert_int_equal(t.timeout_ms, 2000);
    static const char *const wrong[] = {"h?method=PUT",
                                        "h?x",
                                        "me:secret@h",
                                        "h?tenant=a%0d%0ab",
                                        "h?tenant=%c3%a4",
                                        "h?user=me",
                                        "h?user=a%3Ab&token-file=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kymo_error detail = {0};
        assert_int_equal(kymo_http_target_parse("otlp+http://", wrong[i], &t, &detail),
                         KYMO_E_INVALID);
        assert_null(strstr(detail.message, "secret"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_of_s3_has_options),
        cmocka_unit_test(what_no_store_takes_is_refused),
        cmocka_unit_test(what_is_ours_leaves_the_url),
        cmocka_unit_test(servers_have_their_own_options_and_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
