/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_status.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/reporter_remote.h"
#include "base/bytes.h"
#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

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

static void targets_of_reporters_lose_them_too(void **state)
{
    (void)state;
    static kymo_json json;
    static struct kymo_reporter reporter = {.kind = &kymo_reporter_https, .extension = ".jfr"};
    struct kymo_deliver deliver = {.reporter = &reporter};
    kymo_bytes bytes;
    strcpy(reporter.target, "me:secret@store/x?token=secret");
    kymo_bytes_init(&bytes, 1 << 16);
    kymo_json_init(&json, &bytes.sink);
    kymo_agent_status_write_reporter(&deliver, &json);
    OK(kymo_json_finish(&json));
    OK(kymo_bytes_append(&bytes, "", 1));
    assert_string_equal((const char *)bytes.data,
                        "{\"reporter\":\"https://store/x\",\"format\":\".jfr\",\"delivered\":0,"
                        "\"failures\":0,\"dropped\":0,\"waiting\":0,\"waiting_bytes\":0,"
                        "\"last_delivery\":null,\"last_error\":null}");
    kymo_bytes_deinit(&bytes);
}

static kymo_err cannot_start(struct kymo_worker *worker,
                             kymo_err (*work)(void *, struct kymo_worker_result *), void *context,
                             const int *fds, size_t n_fds)
{
    (void)worker;
    (void)work;
    (void)context;
    (void)fds;
    (void)n_fds;
    return KYMO_E_IO;
}

static void a_failed_delivery_says_where_without_secrets(void **state)
{
    (void)state;
    static const struct kymo_deliver_workers workers = {.start = cannot_start};
    static struct kymo_reporter reporter = {.kind = &kymo_reporter_https, .extension = ".jfr"};
    const struct kymo_interval_profile profile = {.number = 1};
    struct kymo_deliver deliver;
    char said[512] = "";
    strcpy(reporter.target, "me:secret@store/x?token=secret#secret");
    kymo_deliver_init(&deliver, &reporter, &workers, 1000);
    int file = memfd_create("profile", MFD_CLOEXEC);
    int log = memfd_create("log", MFD_CLOEXEC);
    int before = dup(2);
    struct kymo_shared_file *shared = kymo_shared_file_create(file);
    OK(kymo_deliver_put(&deliver, shared, &profile));
    kymo_shared_file_release(shared);
    assert_int_equal(dup2(log, 2), 2);
    kymo_deliver_round(&deliver, 1, 1);
    assert_int_equal(dup2(before, 2), 2);
    assert_true(pread(log, said, sizeof said - 1, 0) > 0);
    assert_null(strstr(said, "secret"));
    assert_non_null(strstr(said, "https://store/x: no process for it"));
    kymo_deliver_deinit(&deliver);
    close(before);
    close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_lose_their_secrets),
        cmocka_unit_test(urls_in_messages_lose_them_too),
        cmocka_unit_test(targets_of_reporters_lose_them_too),
        cmocka_unit_test(a_failed_delivery_says_where_without_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
