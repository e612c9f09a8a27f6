/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "empty_folder.h"

/* Another user may be at work in the folder, too: a link is not what was written. */
static void is_file_with(const char *path, const char *expected)
{
    struct stat st;
    has(path, expected);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

static void begin(kymo_spool *spool, const char *folder)
{
    assert_int_equal(kymo_spool_create(spool, folder, "prog", NULL), KYMO_OK);
    assert_int_equal(write(spool->fd, "recorded", 8), 8);
    assert_int_equal(kymo_spool_bytes(spool), 8);
}

static void is_its_owners_alone(void **state)
{
    (void)state;
    kymo_spool spool;
    kymo_error detail;
    struct stat st;
    umask(0);
    begin(&spool, ".");
    assert_string_equal(kymo_spool_place(&spool), spool.path);
    assert_int_equal(stat(spool.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    kymo_spool_unlink(&spool);
    assert_int_equal(access(spool.path, F_OK), -1);
    assert_null(kymo_spool_place(&spool));
    kymo_spool_close(&spool);
    assert_int_equal(kymo_spool_create(&spool, "none", "prog", &detail), KYMO_E_NOT_FOUND);
    assert_string_equal(detail.message,
                        "folder none cannot be written to: No such file or directory");
}

static void gets_its_name(void **state)
{
    (void)state;
    kymo_spool spool;
    kymo_error detail;
    assert_int_equal(mkdir("d", 0777), 0);
    begin(&spool, "d/");
    assert_int_equal(kymo_spool_move(&spool, "a.kymo", 0, &detail), KYMO_OK);
    is_file_with("a.kymo", "recorded");
    assert_int_equal(access(spool.path, F_OK), -1);
    kymo_spool_close(&spool);

    put("there.kymo", "mine");
    begin(&spool, ".");
    assert_int_equal(kymo_spool_move(&spool, "there.kymo", 0, &detail), KYMO_E_EXISTS);
    assert_string_equal(detail.message, "there.kymo: already exists");
    is_file_with("there.kymo", "mine");
    assert_int_equal(kymo_spool_move(&spool, "no/a.kymo", 0, &detail), KYMO_E_NOT_FOUND);
    is_file_with(spool.path, "recorded");
    assert_int_equal(kymo_spool_move(&spool, "there.kymo", 1, &detail), KYMO_OK);
    is_file_with("there.kymo", "recorded");
    kymo_spool_close(&spool);
}

/* Who may write to the folder puts a link, to a file of root's, where the recording was. */
static void a_link_in_its_place_is_not_followed(void **state)
{
    (void)state;
    kymo_spool spool;
    kymo_error detail;
    put("precious", "old");
    begin(&spool, ".");
    assert_int_equal(unlink(spool.path), 0);
    assert_int_equal(symlink("precious", spool.path), 0);
    assert_int_equal(write(spool.fd, ", more", 6), 6);
    assert_null(kymo_spool_place(&spool));
    assert_int_equal(kymo_spool_move(&spool, "a.kymo", 0, &detail), KYMO_OK);
    is_file_with("a.kymo", "recorded, more");
    is_file_with("precious", "old");
    kymo_spool_unlink(&spool); /* what is not ours stays */
    struct stat st;
    assert_int_equal(lstat(spool.path, &st), 0);
    kymo_spool_close(&spool);
}

/* The same with a link at its new name. */
static void a_link_at_its_name_is_replaced(void **state)
{
    (void)state;
    kymo_spool spool;
    kymo_error detail;
    put("precious", "old");
    begin(&spool, ".");
    assert_int_equal(unlink(spool.path), 0);
    assert_int_equal(symlink("precious", "a.kymo"), 0);
    assert_int_equal(kymo_spool_move(&spool, "a.kymo", 0, &detail), KYMO_E_EXISTS);
    assert_int_equal(kymo_spool_move(&spool, "a.kymo", 1, &detail), KYMO_OK);
    is_file_with("precious", "old");
    is_file_with("a.kymo", "recorded");
    kymo_spool_close(&spool);
}

static void one_that_was_deleted_is_kept(void **state)
{
    (void)state;
    kymo_spool spool;
    kymo_error detail;
    begin(&spool, ".");
    assert_int_equal(unlink(spool.path), 0);
    put("there.kymo", "mine");
    assert_int_equal(kymo_spool_move(&spool, "there.kymo", 0, &detail), KYMO_E_EXISTS);
    assert_int_equal(kymo_spool_move(&spool, "a.kymo", 0, &detail), KYMO_OK);
    is_file_with("a.kymo", "recorded");
    kymo_spool_close(&spool);
}

/* Its folder was moved away, and a link to another stands in its place. */
static void the_folder_stays_the_one_that_was_opened(void **state)
{
    (void)state;
    kymo_spool spool;
    assert_int_equal(mkdir("mine", 0777), 0);
    assert_int_equal(mkdir("other", 0777), 0);
    begin(&spool, "mine");
    char same[64];
    snprintf(same, sizeof same, "other/%s", spool.name);
    put(same, "not ours");
    assert_int_equal(rename("mine", "moved"), 0);
    assert_int_equal(symlink("other", "mine"), 0);
    kymo_spool_unlink(&spool);
    is_file_with(same, "not ours");
    snprintf(same, sizeof same, "moved/%s", spool.name);
    assert_int_equal(access(same, F_OK), -1);
    kymo_spool_close(&spool);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        T(is_its_owners_alone),
        T(gets_its_name),
        T(a_link_in_its_place_is_not_followed),
        T(a_link_at_its_name_is_replaced),
        T(one_that_was_deleted_is_kept),
        T(the_folder_stays_the_one_that_was_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
