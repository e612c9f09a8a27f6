/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_status.h"

#include "unit.h"

static void check_public(const char *text, const char *expected)
{
    kymo_str out = {0};
    kymo_text_put_public(&out, text);
    assert_string_equal(kymo_str_cstr(&out), expected);
    kymo_str_deinit(&out);
}

static void urls_lose_their_secrets(void **state)
{
    (void)state;
    check_public("", "");
    check_public("/var/profiles?x@y", "/var/profiles?x@y");
    check_public("https://host/path", "https://host/path");
    check_public("https://me:secret@host:1/p?token=secret#here", "https://host:1/p");
    check_public("https://me:se/cr@et@host", "https://host");
    check_public("https://host#secret", "https://host");
    check_public("://", "://");
    check_public("://@", "://");
}

static void urls_in_messages_lose_them_too(void **state)
{
    (void)state;
    check_public("cannot reach 'http://a:b@h/x?s=1': 403", "cannot reach 'http://h/x': 403");
    check_public("s3://k@b/p to http://h?q and on", "s3://b/p to http://h and on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_lose_their_secrets),
        cmocka_unit_test(urls_in_messages_lose_them_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
