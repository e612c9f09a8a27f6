/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "empty_folder.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static void an_address_has_several_forms(void **state)
{
    static const struct {
        const char *text, *name;
        int is_local;
    } good[] = {
        {"6060", "http://127.0.0.1:6060", 1},
        {"0", "http://127.0.0.1:0", 1},
        {"127.0.0.1:6060", "http://127.0.0.1:6060", 1},
        {"127.8.9.10:1", "http://127.8.9.10:1", 1},
        {"localhost:65535", "http://127.0.0.1:65535", 1},
        {"[::1]:6060", "http://[::1]:6060", 1},
        {"0.0.0.0:6060", "http://0.0.0.0:6060", 0},
        {"10.1.2.3:6060", "http://10.1.2.3:6060", 0},
        {"[::]:6060", "http://[::]:6060", 0},
        {"[::ffff:127.0.0.1]:1", "http://[::ffff:127.0.0.1]:1", 0},
        {"unix:/run/a:b.sock", "unix:/run/a:b.sock", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct kymo_listen l;
        char name[KYMO_LISTEN_NAME_MAX];
        OK(kymo_listen_parse(&l, good[i].text, NULL));
        assert_string_equal(kymo_listen_name(&l, name), good[i].name);
        assert_int_equal(kymo_listen_is_local(&l), good[i].is_local);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    char path[200] = "unix:";
    const char *const wrong[] = {
        "",
        ":",
        ":6060",
        "65536",
        "-1",
        "60 60",
        "example.com:80",
        "1.2.3:4",
        "::1:6060",
        "[::1]",
        "[]:1",
        "[1]:2",
        "127.0.0.1",
        "127.0.0.1:",
        "unix:",
        "[127.0.0.1]:1",
        "0x10",
        "6060/",
        "[::1]6",
        path,
        "1111111111111111111111111111111111111111111111111111111111111111111111:1",
    };
    (void)state;
    memset(path + 5, 'x', 150);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kymo_listen l = {.has_file = 7};
        kymo_error detail = {0};
        if (kymo_listen_parse(&l, wrong[i], &detail) != KYMO_E_INVALID)
            fail_msg("'%s' was taken", wrong[i]);
        assert_non_null(strstr(detail.message, "listen="));
        assert_int_equal(l.has_file, 7);
    }
}

static void a_free_port_is_told(void **state)
{
    struct kymo_listen first, second;
    char name[KYMO_LISTEN_NAME_MAX];
    kymo_error detail;
    int fd, other;
    (void)state;
    OK(kymo_listen_parse(&first, "0", NULL));
    OK(kymo_listen_open(&first, &fd, NULL));
    kymo_listen_name(&first, name);
    assert_string_not_equal(name, "http://127.0.0.1:0");
    OK(kymo_listen_parse(&second, name + strlen("http://"), NULL));
    assert_int_not_equal(kymo_listen_open(&second, &other, &detail), KYMO_OK);
    assert_non_null(strstr(detail.message, name));
    close(fd);
    kymo_listen_remove(&first);
}

static int connects_to(const struct kymo_listen *l)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int does = connect(fd, (const struct sockaddr *)&l->address, l->size) == 0;
    close(fd);
    return does;
}

static void a_unix_socket_is_its_owners_and_goes(void **state)
{
    struct kymo_listen l, again;
    struct stat st;
    kymo_error detail;
    int fd, other;
    (void)state;
    OK(kymo_listen_parse(&l, "unix:socket", NULL));
    OK(kymo_listen_open(&l, &fd, NULL));
    assert_int_equal(lstat("socket", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(connects_to(&l));
    /* One that is in use stays. */
    OK(kymo_listen_parse(&again, "unix:socket", NULL));
    assert_int_equal(kymo_listen_open(&again, &other, &detail), KYMO_E_EXISTS);
    assert_string_equal(detail.message, "socket: another process listens there");
    assert_true(connects_to(&l));
    /* One that is left of a process that was killed does not. */
    close(fd);
    OK(kymo_listen_open(&again, &other, NULL));
    assert_true(connects_to(&again));
    /* The file is another process's now. */
    kymo_listen_remove(&l);
    assert_int_equal(lstat("socket", &st), 0);
    close(other);
    kymo_listen_remove(&again);
    assert_int_equal(lstat("socket", &st), -1);
}

static void what_is_no_socket_is_left_alone(void **state)
{
    struct kymo_listen l;
    struct stat st;
    kymo_error detail;
    int fd;
    (void)state;
    put("file", "text");
    assert_int_equal(symlink("nowhere", "link"), 0);
    OK(kymo_listen_parse(&l, "unix:file", NULL));
    assert_int_equal(kymo_listen_open(&l, &fd, &detail), KYMO_E_EXISTS);
    OK(kymo_listen_parse(&l, "unix:link", NULL));
    assert_int_equal(kymo_listen_open(&l, &fd, &detail), KYMO_E_EXISTS);
    assert_string_equal(detail.message, "link: it exists, and is not a socket of this user");
    assert_int_equal(lstat("nowhere", &st), -1);
    OK(kymo_listen_parse(&l, "unix:no/folder", NULL));
    assert_int_not_equal(kymo_listen_open(&l, &fd, &detail), KYMO_OK);
    assert_int_equal(lstat("file", &st), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_several_forms),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(a_free_port_is_told),
        cmocka_unit_test_setup_teardown(a_unix_socket_is_its_owners_and_goes, enter, leave),
        cmocka_unit_test_setup_teardown(what_is_no_socket_is_left_alone, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
