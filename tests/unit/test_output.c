/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "empty_folder.h"
#include "unit.h"

/* In place of libc's: fails with this, if it is not 0. */
static int symlink_errno;

int symlinkat(const char *target, int at, const char *path)
{
    if (symlink_errno) {
        errno = symlink_errno;
        return -1;
    }
    return (int)syscall(SYS_symlinkat, target, at, path);
}

/* Each test works in an empty folder of its own. */
static const char *folder;
static const kymo_output_names before = {.program = "/usr/bin/my prog", .start = 1000000000};
static const kymo_output_names after = {
    .program = "/usr/bin/my prog", .pid = 42, .start = 1000000000};

static int setup(void **state)
{
    setenv("TZ", "UTC", 1);
    int status = enter(state);
    folder = *state;
    return status;
}

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

static void expect_settled(const char *asked, int force, const char *path)
{
    kymo_output o;
    kymo_error e = {0};
    if (kymo_output_check(&o, asked, force, &before, &e) != KYMO_OK ||
        kymo_output_settle(&o, &after, &e) != KYMO_OK)
        fail_msg("%s: %s", asked ? asked : "(default)", e.message);
    assert_string_equal(o.path, path);
}

static void expect_refused(const char *asked, kymo_err err, const char *message)
{
    kymo_output o;
    kymo_error e = {0};
    kymo_err got = kymo_output_check(&o, asked, 0, &before, &e);
    if (got != err || !strstr(e.message, message))
        fail_msg("%s: %s \"%s\"; wanted %s \"%s\"", asked, kymo_err_name(got), e.message,
                 kymo_err_name(err), message);
}

static void default_names_are_numbered(void **state)
{
    (void)state;
    expect_settled(NULL, 0, "kymo.my_prog.42.kymo");
    touch("kymo.my_prog.42.kymo");
    expect_settled(NULL, 0, "kymo.my_prog.42-2.kymo");
    /* A link to nowhere is taken, too. */
    assert_int_equal(symlink("nowhere", "kymo.my_prog.42-2.kymo"), 0);
    expect_settled(NULL, 1, "kymo.my_prog.42-3.kymo");

    assert_int_equal(mkdir("d", 0755), 0);
    expect_settled("d/", 0, "d/kymo.my_prog.42.kymo");
    expect_settled("d", 0, "d/kymo.my_prog.42.kymo");
    expect_refused("e/", KYMO_E_NOT_FOUND, "folder e/: No such file or directory");
}

static void names_are_expanded(void **state)
{
    (void)state;
    char host[256];
    char want[300];
    gethostname(host, sizeof host);
    snprintf(want, sizeof want, "%s.folded", host);
    expect_settled("run-%p.json", 0, "run-42.json");
    expect_settled("%t.pb.gz", 0, "20010909-014640.pb.gz");
    expect_settled("%h.folded", 0, want);
    expect_settled("100%%.kymo", 0, "100%.kymo");
    expect_refused("a%x.json", KYMO_E_INVALID, "%x means nothing");
    expect_refused("a.json%", KYMO_E_INVALID, "means nothing");
    expect_refused("%p/a.json", KYMO_E_INVALID, "a folder cannot be called by %p");
    expect_refused("%p/", KYMO_E_INVALID, "a folder cannot be called by %p");

    /* Only when the pid is known it turns out that the name is taken. */
    kymo_output o;
    kymo_error e;
    touch("run-42.json");
    assert_int_equal(kymo_output_check(&o, "run-%p.json", 0, &before, &e), KYMO_OK);
    assert_int_equal(kymo_output_settle(&o, &after, &e), KYMO_E_EXISTS);
    assert_string_equal(e.message, "run-42.json exists; -f overwrites it");
}

static void what_is_refused_before_the_program_runs(void **state)
{
    (void)state;
    expect_refused("", KYMO_E_INVALID, "empty");
    expect_refused("x", KYMO_E_UNSUPPORTED, "x: unknown format; use .json");
    expect_refused("x.jsn", KYMO_E_UNSUPPORTED, ".kymo");
    expect_refused("no/x.json", KYMO_E_NOT_FOUND, "folder no: No such file or directory");
    touch("there.json");
    expect_refused("there.json", KYMO_E_EXISTS, "there.json exists; -f overwrites it");
    expect_settled("there.json", 1, "there.json");
    expect_refused("there.json/x.json", KYMO_E_NOT_FOUND, "there.json is not a folder");
    assert_int_equal(symlink("nowhere", "link.json"), 0);
    expect_refused("link.json", KYMO_E_EXISTS, "exists");
    assert_int_equal(mkdir("dir.json", 0755), 0);
    expect_settled("dir.json", 0, "dir.json/kymo.my_prog.42.kymo");

    char *longest = malloc(PATH_MAX + 10);
    assert_non_null(longest);
    memset(longest, 'a', PATH_MAX + 9);
    strcpy(longest + PATH_MAX + 1, ".json");
    expect_refused(longest, KYMO_E_INVALID, "too long");
    free(longest);
    assert_int_equal(mkdir("closed", 0555), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    uid_t uid = geteuid();
    if (uid == 0)
        assert_int_equal(seteuid(65534), 0); /* root may write anywhere */
    expect_refused("closed/x.json", KYMO_E_PERMISSION, "folder closed cannot be written to");
    assert_int_equal(seteuid(uid), 0);
}

static void devices_are_written_into(void **state)
{
    (void)state;
    kymo_output o;
    assert_int_equal(symlink("/dev/full", "full.json"), 0);
    assert_int_equal(kymo_output_check(&o, "full.json", 0, &before, NULL), KYMO_OK);
    assert_true(o.is_special);
    assert_int_equal(symlink("/dev/full", "full.kymo"), 0);
    expect_refused("full.kymo", KYMO_E_UNSUPPORTED, "not to a device");
}

static void plain_names_are_not_expanded(void **state)
{
    (void)state;
    kymo_output o;
    kymo_error e;
    assert_int_equal(kymo_output_check_plain(&o, "%p.json", 0, &e), KYMO_OK);
    assert_string_equal(o.path, "%p.json");
    touch("a.json");
    assert_int_equal(kymo_output_check_plain(&o, "a.json", 0, &e), KYMO_E_EXISTS);
    assert_int_equal(kymo_output_check_plain(&o, "a.json", 1, &e), KYMO_OK);
    assert_int_equal(kymo_output_check_plain(&o, ".", 1, &e), KYMO_E_UNSUPPORTED);
    assert_int_equal(kymo_output_check_plain(&o, "no/a.json", 0, &e), KYMO_E_NOT_FOUND);
    assert_int_equal(kymo_output_check_plain(&o, "", 0, &e), KYMO_E_INVALID);
}

static void the_latest_link(void **state)
{
    (void)state;
    char target[256];
    kymo_error e;
    assert_int_equal(mkdir("d", 0755), 0);
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "d/b.kymo" : "d/a.kymo";
        assert_int_equal(kymo_output_link_latest(path, &e), KYMO_OK);
        ssize_t n = readlink("d/kymo.latest.kymo", target, sizeof target - 1);
        assert_true(n > 0);
        target[n] = '\0';
        assert_string_equal(target, path + 2);
    }
    assert_int_equal(kymo_output_link_latest("c.kymo", &e), KYMO_OK);
    assert_int_equal(access("kymo.latest.kymo", F_OK), -1); /* to a file that is not there */
    struct stat st;
    assert_int_equal(lstat("kymo.latest.kymo", &st), 0);
    /* A file of the user's stays. */
    unlink("kymo.latest.kymo");
    touch("kymo.latest.kymo");
    assert_int_equal(kymo_output_link_latest("c.kymo", &e), KYMO_E_EXISTS);
    assert_int_equal(lstat("kymo.latest.kymo", &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

/* As on a file system without links. */
static void no_link_is_said(void **state)
{
    (void)state;
    kymo_error e;
    struct stat st;
    symlink_errno = EPERM;
    kymo_err err = kymo_output_link_latest("c.kymo", &e);
    symlink_errno = 0;
    assert_int_equal(err, KYMO_E_UNSUPPORTED);
    assert_non_null(strstr(e.message, "this file system has no symbolic links"));
    assert_int_equal(lstat("kymo.latest.kymo", &st), -1);
}

static void spools_and_kept_recordings(void **state)
{
    (void)state;
    char a[PATH_MAX];
    char b[PATH_MAX];
    kymo_spool one;
    kymo_spool two;
    assert_int_equal(kymo_output_make_spool(".", &before, &one, NULL), KYMO_OK);
    assert_int_equal(kymo_output_make_spool(".", &before, &two, NULL), KYMO_OK);
    assert_string_not_equal(one.path, two.path);
    assert_true(kymo_str_starts(one.path, "./kymo.my_prog.") && kymo_str_ends(one.path, ".kymo"));
    kymo_spool_close(&one);
    kymo_spool_close(&two);
    assert_int_equal(kymo_output_keep_path(".", &after, a, NULL), KYMO_OK);
    assert_string_equal(a, "kymo.my_prog.42.kymo");
    touch(a);
    assert_int_equal(kymo_output_keep_path(folder, &after, b, NULL), KYMO_OK);
    assert_true(kymo_str_ends(b, "/kymo.my_prog.42-2.kymo"));
    assert_int_equal(kymo_output_make_spool("no", &before, &one, NULL), KYMO_E_NOT_FOUND);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, leave)
    const struct CMUnitTest tests[] = {
        T(default_names_are_numbered),
        T(names_are_expanded),
        T(what_is_refused_before_the_program_runs),
        T(devices_are_written_into),
        T(plain_names_are_not_expanded),
        T(the_latest_link),
        T(no_link_is_said),
        T(spools_and_kept_recordings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
