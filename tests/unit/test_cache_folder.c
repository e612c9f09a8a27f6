/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/cache_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/write_all.h"
#include "unit.h"

static char root[64];

static int begin(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/kymo-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    /* All that kymo_cache_open may look at lies below the root. */
    assert_int_equal(setenv("XDG_CACHE_HOME", root, 1), 0);
    assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(unsetenv("KYMO_CACHE"), 0);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static int open_folder(void)
{
    int folder = kymo_cache_open();
    assert_true(folder >= 0);
    return folder;
}

static void put(int folder, const char *name, const char *text)
{
    struct iovec parts[] = {{(void *)(uintptr_t)text, 1},
                            {(void *)(uintptr_t)(text + 1), strlen(text) - 1}};
    assert_int_equal(kymo_cache_write(folder, name, parts, 2), KYMO_OK);
}

static int has(int folder, const char *name)
{
    uint64_t size;
    int fd = kymo_cache_open_file(folder, name, 100, &size);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void makes_a_private_folder(void **state)
{
    (void)state;
    struct stat st;
    int folder = open_folder();
    assert_int_equal(stat(path_of("kymo"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    close(folder);
    close(open_folder()); /* which is there now */
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(setenv("HOME", root, 1), 0);
    close(open_folder());
    assert_int_equal(stat(path_of(".cache/kymo"), &st), 0);
}

static void is_switched_off(void **state)
{
    (void)state;
    assert_int_equal(setenv("KYMO_CACHE", "off", 1), 0);
    assert_int_equal(kymo_cache_open(), -1);
    assert_int_equal(setenv("KYMO_CACHE", "0", 1), 0);
    assert_int_equal(kymo_cache_open(), -1);
    assert_int_equal(access(path_of("kymo"), F_OK), -1);
    assert_int_equal(setenv("KYMO_CACHE", "on", 1), 0);
    close(open_folder());
}

static void leaves_folders_of_others_alone(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("elsewhere"), 0700), 0);
    assert_int_equal(symlink("elsewhere", path_of("kymo")), 0);
    assert_int_equal(kymo_cache_open(), -1);
    assert_int_equal(unlink(path_of("kymo")), 0);
    assert_int_equal(mkdir(path_of("kymo"), 0700), 0);
    assert_int_equal(chmod(path_of("kymo"), 0770), 0);
    assert_int_equal(kymo_cache_open(), -1);
    assert_int_equal(setenv("TMPDIR", root, 1), 0); /* where it finds another place */
    close(open_folder());
    assert_int_equal(rmdir(path_of("kymo")), 0);
    assert_int_equal(creat(path_of("kymo"), 0600) >= 0, 1);
    char other[32];
    snprintf(other, sizeof other, "kymo-%u", (unsigned)geteuid());
    assert_int_equal(rmdir(path_of(other)), 0);
    assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
    assert_int_equal(kymo_cache_open(), -1);
}

static void keeps_whole_files(void **state)
{
    (void)state;
    char text[16] = "";
    uint64_t size;
    struct stat st;
    int folder = open_folder();
    put(folder, "a", "hello");
    put(folder, "a", "hello again");
    int fd = kymo_cache_open_file(folder, "a", 11, &size);
    assert_true(fd >= 0);
    assert_int_equal(size, 11);
    assert_int_equal(kymo_read_all(fd, text, sizeof text, 0), 11);
    assert_string_equal(text, "hello again");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    close(fd);
    assert_int_equal(kymo_cache_open_file(folder, "a", 10, &size), -1);
    assert_int_equal(mkdirat(folder, "b", 0700), 0);
    struct iovec part = {text, 1};
    assert_int_not_equal(kymo_cache_write(folder, "b", &part, 1), KYMO_OK);
    assert_int_equal(unlinkat(folder, "a", 0), 0);
    assert_int_equal(unlinkat(folder, "b", AT_REMOVEDIR), 0);
    close(folder);
    assert_int_equal(rmdir(path_of("kymo")), 0); /* it left no other file */
}

static void believes_its_own_files_only(void **state)
{
    (void)state;
    int folder = open_folder();
    put(folder, "a", "text");
    assert_true(has(folder, "a"));
    assert_int_equal(fchmodat(folder, "a", 0620, 0), 0);
    assert_false(has(folder, "a"));
    assert_int_equal(fchmodat(folder, "a", 0600, 0), 0);
    assert_int_equal(symlinkat("a", folder, "b"), 0);
    assert_false(has(folder, "b"));
    assert_int_equal(mkfifoat(folder, "c", 0600), 0);
    assert_false(has(folder, "c"));
    assert_false(has(folder, "d"));
    /* A link in the place of a file is replaced, not followed. */
    put(folder, "b", "other");
    assert_true(has(folder, "b"));
    struct stat st;
    assert_int_equal(fstatat(folder, "a", &st, 0), 0);
    assert_int_equal(st.st_size, 4);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(folder, "a", 1, 1, 0), 0);
        assert_false(has(folder, "a"));
    }
    close(folder);
}

static void set_age(int folder, const char *name, time_t s)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - s}, {.tv_sec = time(NULL) - s}};
    assert_int_equal(utimensat(folder, name, times, 0), 0);
}

static void the_oldest_files_go(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int days;
    } files[] = {{"x-1", 9}, {"x-2", 3}, {"x-3", 5}, {"x-4", 7}, {"y-1", 99}, {".x-5.77", 1}};
    int folder = open_folder();
    for (size_t i = 0; i < KYMO_ARRAY_LEN(files); i++) {
        put(folder, files[i].name, "1234567890");
        set_age(folder, files[i].name, files[i].days * 86400);
    }
    put(folder, ".x-6.78", "1234567890"); /* is being written */
    assert_true(has(folder, "x-4"));      /* is in use, so it is the youngest now */
    kymo_cache_trim(folder, "x-", 20);
    assert_true(has(folder, "x-4") && has(folder, "x-2") && has(folder, "y-1"));
    assert_false(has(folder, "x-1") || has(folder, "x-3") || has(folder, ".x-5.77"));
    assert_true(has(folder, ".x-6.78"));
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(makes_a_private_folder, begin, end),
        cmocka_unit_test_setup_teardown(is_switched_off, begin, end),
        cmocka_unit_test_setup_teardown(leaves_folders_of_others_alone, begin, end),
        cmocka_unit_test_setup_teardown(keeps_whole_files, begin, end),
        cmocka_unit_test_setup_teardown(believes_its_own_files_only, begin, end),
        cmocka_unit_test_setup_teardown(the_oldest_files_go, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
