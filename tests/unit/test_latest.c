/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/latest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "empty_folder.h"
#include "recorder/spool.h"
#include "unit.h"

static void make(const char *name, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void the_newest_come_first(void **state)
{
    (void)state;
    struct kymo_latest found[3];
    assert_int_equal(kymo_latest_find(".", found, 2), 0);
    assert_int_equal(kymo_latest_find("none", found, 2), 0);
    make("old.kymo", 1000);
    make("kymo.sh.123456.kymo", 3000);
    make("new.kymo", 4000);
    make("older.kymo", 500);
    make("not.json", 9000);
    make("kymo.sh.a1B2c3.unfinished.kymo", 9000);
    assert_int_equal(symlink("old.kymo", "kymo.latest.kymo"), 0);
    assert_int_equal(mkdir("folder.kymo", 0755), 0);
    assert_int_equal(kymo_latest_find(".", found, 3), 3);
    assert_string_equal(found[0].name, "new.kymo");
    assert_string_equal(found[1].name, "kymo.sh.123456.kymo");
    assert_string_equal(found[2].name, "old.kymo");
    assert_int_equal(kymo_latest_find(".", found, 1), 1);
    assert_string_equal(found[0].name, "new.kymo");
}

/* As users keep one aside, which has as many letters as the name of a spool has. */
static void one_with_a_name_of_the_users_is_found(void **state)
{
    (void)state;
    struct kymo_latest found[2];
    make("kymo.web.before.kymo", 1000);
    assert_int_equal(kymo_latest_find(".", found, 2), 1);
    assert_string_equal(found[0].name, "kymo.web.before.kymo");
}

static void one_that_is_being_written_is_not(void **state)
{
    (void)state;
    kymo_spool spool;
    struct kymo_latest found[2];
    assert_int_equal(kymo_spool_create(&spool, ".", "web", NULL), KYMO_OK);
    assert_int_equal(kymo_latest_find(".", found, 2), 0);
    kymo_spool_close(&spool);
}

static void of_equal_times_the_name_decides(void **state)
{
    (void)state;
    struct kymo_latest found[2];
    make("a.kymo", 1000);
    make("c.kymo", 1000);
    make("b.kymo", 1000);
    assert_int_equal(kymo_latest_find(".", found, 2), 2);
    assert_string_equal(found[0].name, "c.kymo");
    assert_string_equal(found[1].name, "b.kymo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_come_first, enter, leave),
        cmocka_unit_test_setup_teardown(one_with_a_name_of_the_users_is_found, enter, leave),
        cmocka_unit_test_setup_teardown(one_that_is_being_written_is_not, enter, leave),
        cmocka_unit_test_setup_teardown(of_equal_times_the_name_decides, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
