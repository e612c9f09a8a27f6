/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

enum { NOBODY = 65534 };

static char root[] = "/tmp/kymo-folder-XXXXXX";
static char text[PATH_MAX];

static const char *in_root(const char *path)
{
    snprintf(text, sizeof text, "%s/%s", root, path);
    return text;
}

static void make_folder(const char *path, uid_t owner)
{
    assert_int_equal(mkdir(in_root(path), 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(in_root(path), owner, owner), 0);
}

static void make_link(const char *path, const char *target, uid_t owner)
{
    assert_int_equal(symlink(target, in_root(path)), 0);
    if (geteuid() == 0)
        assert_int_equal(lchown(in_root(path), owner, owner), 0);
}

/*
 *   real/inner        root's
 *   mine -> real      far -> .../real   chain -> bad
 *   bad -> real       nobody's, in root's folder
 *   theirs/           nobody's, with links of both owners to real
 */
static int make_tree(void **state)
{
    char far[PATH_MAX];
    (void)state;
    if (!mkdtemp(root) || chmod(root, 0755) != 0)
        return -1;
    make_folder("real", 0);
    make_folder("real/inner", 0);
    make_folder("theirs", NOBODY);
    make_folder("theirs/plain", NOBODY);
    make_link("mine", "real", 0);
    snprintf(far, sizeof far, "%s", in_root("real"));
    make_link("far", far, 0);
    make_link("bad", "real", NOBODY);
    make_link("chain", "bad", 0);
    make_link("circle", "circle", 0);
    make_link("theirs/link", "../real", NOBODY);
    make_link("theirs/moved", "../real", 0);
    fclose(fopen(in_root("file"), "w"));
    return 0;
}

static int drop_tree(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static int is_same(const char *path, const char *expected)
{
    struct stat a, b;
    int folder = kymo_folder_open(in_root(path));
    if (folder < 0)
        return 0;
    assert_int_equal(fstat(folder, &a), 0);
    close(folder);
    assert_int_equal(stat(in_root(expected), &b), 0);
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void a_folder_is_found(void **state)
{
    (void)state;
    assert_true(is_same("real", "real"));
    assert_true(is_same("real/inner/", "real/inner"));
    assert_true(is_same("real//./inner/../inner", "real/inner"));
    assert_true(is_same("theirs/plain", "theirs/plain"));
    assert_true(is_same(".", "."));
    int here = kymo_folder_open(".");
    assert_true(here >= 0);
    close(here);
    int top = kymo_folder_open("/");
    assert_true(top >= 0);
    close(top);
}

static void own_links_are_followed(void **state)
{
    (void)state;
    assert_true(is_same("mine", "real"));
    assert_true(is_same("mine/inner", "real/inner"));
    assert_true(is_same("far/inner", "real/inner"));
    char path[64];
    int folder = open(in_root("real"), O_PATH | O_DIRECTORY);
    snprintf(path, sizeof path, "/proc/self/fd/%d/inner", folder);
    int inner = kymo_folder_open(path);
    assert_true(inner >= 0);
    close(inner);
    close(folder);
}

static void root_follows_no_link_of_others(void **state)
{
    static const char *const others[] = {"bad",         "bad/inner",    "chain",
                                         "theirs/link", "theirs/moved", "theirs/link/inner"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int folder = kymo_folder_open(in_root(others[i]));
        if (geteuid() == 0) {
            assert_int_equal(folder, -1);
            assert_int_equal(errno, ELOOP);
        } else {
            assert_true(folder >= 0);
            close(folder);
        }
    }
}

static void what_is_no_folder_says_so(void **state)
{
    static const struct {
        const char *path;
        int error;
    } cases[] = {{"none", ENOENT},
                 {"none/inner", ENOENT},
                 {"file", ENOTDIR},
                 {"file/inner", ENOTDIR},
                 {"circle", ELOOP}};
    char far[2 * PATH_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(kymo_folder_open(in_root(cases[i].path)), -1);
        assert_int_equal(errno, cases[i].error);
    }
    assert_int_equal(kymo_folder_open(""), -1);
    assert_int_equal(errno, ENOENT);
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    assert_int_equal(kymo_folder_open(far), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    far[NAME_MAX + 1] = '\0';
    assert_int_equal(kymo_folder_open(far), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_found),
        cmocka_unit_test(own_links_are_followed),
        cmocka_unit_test(root_follows_no_link_of_others),
        cmocka_unit_test(what_is_no_folder_says_so),
    };
    return cmocka_run_group_tests(tests, make_tree, drop_tree);
}
