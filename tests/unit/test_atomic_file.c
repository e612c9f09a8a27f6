/* SPDX-License-Identifier: Apache-2.0 */
#include "empty_folder.h"
#include "encode/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each test says what must be in its folder at the end. */
static unsigned files_here(void)
{
    unsigned n = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void appears_when_complete(void **state)
{
    (void)state;
    kymo_atomic_file file;
    umask(022);
    assert_int_equal(kymo_atomic_file_open(&file, "out", 0, NULL), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "hello ", 6), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "world", 5), KYMO_OK);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(files_here(), 1);
    assert_int_equal(file.bytes, 11);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("out", "hello world");
    assert_int_equal(files_here(), 1);
    struct stat st;
    assert_int_equal(stat("out", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void abandon_leaves_nothing(void **state)
{
    (void)state;
    kymo_atomic_file file;
    put("out", "old");
    assert_int_equal(kymo_atomic_file_open(&file, "out", 1, NULL), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    kymo_atomic_file_abandon(&file);
    has("out", "old");
    assert_int_equal(files_here(), 1);
}

static void what_a_killed_process_left(void **state)
{
    (void)state;
    kymo_atomic_file file;
    pid_t child = fork();
    if (child == 0) {
        if (kymo_atomic_file_open(&file, "out", 0, NULL) == KYMO_OK)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    put("other", "other");
    assert_int_equal(files_here(), 2);
    kymo_atomic_file_remove_left("out", getpid());
    kymo_atomic_file_remove_left("other", child);
    kymo_atomic_file_remove_left("no folder/out", child);
    assert_int_equal(files_here(), 2);
    kymo_atomic_file_remove_left("out", child);
    assert_int_equal(files_here(), 1);
    has("other", "other");
}

static void existing_files(void **state)
{
    (void)state;
    kymo_atomic_file file;
    kymo_error detail;
    put("out", "old");
    assert_int_equal(kymo_atomic_file_open(&file, "out", 0, &detail), KYMO_E_EXISTS);
    assert_string_equal(detail.message, "out: already exists");
    assert_int_equal(kymo_atomic_file_open(&file, "out", 1, &detail), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("out", "new");
    /* One that appears in the meantime is not overwritten either. */
    assert_int_equal(kymo_atomic_file_open(&file, "late", 0, &detail), KYMO_OK);
    put("late", "someone else's");
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_E_EXISTS);
    has("late", "someone else's");
    assert_int_equal(files_here(), 2);
}

static void two_writers_of_one_name(void **state)
{
    (void)state;
    kymo_atomic_file a;
    kymo_atomic_file b;
    assert_int_equal(kymo_atomic_file_open(&a, "out", 1, NULL), KYMO_OK);
    assert_int_equal(kymo_atomic_file_open(&b, "out", 1, NULL), KYMO_OK);
    assert_int_equal(kymo_sink_write(&a.sink, "first", 5), KYMO_OK);
    assert_int_equal(kymo_sink_write(&b.sink, "second", 6), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&b), KYMO_OK);
    has("out", "second");
    assert_int_equal(kymo_atomic_file_commit(&a), KYMO_OK);
    has("out", "first");
    assert_int_equal(files_here(), 1);
}

static void places_that_cannot_be_written(void **state)
{
    (void)state;
    kymo_atomic_file file;
    kymo_error detail;
    assert_int_equal(kymo_atomic_file_open(&file, "no/such/out", 0, &detail), KYMO_E_NOT_FOUND);
    assert_string_equal(detail.message, "no/such/out: cannot create: No such file or directory");
    assert_int_equal(detail.sys_errno, ENOENT);
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_not_equal(kymo_atomic_file_open(&file, "folder", 1, &detail), KYMO_OK);
    assert_string_equal(detail.message, "folder: cannot create: Is a directory");
    put("plain", "");
    assert_int_equal(kymo_atomic_file_open(&file, "plain/out", 0, &detail), KYMO_E_NOT_FOUND);
    char name[300];
    memset(name, 'n', sizeof name);
    name[255] = '\0'; /* as long as a name may be: the temporary one is cut */
    assert_int_equal(kymo_atomic_file_open(&file, name, 0, &detail), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    assert_int_equal(files_here(), 3);
}

static void a_full_disk(void **state)
{
    (void)state;
    kymo_atomic_file file;
    kymo_error detail;
    assert_int_equal(kymo_atomic_file_open(&file, "/dev/full", 1, &detail), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "x", 1), KYMO_E_NO_SPACE);
    assert_string_equal(detail.message, "/dev/full: cannot write: No space left on device");
    kymo_atomic_file_abandon(&file);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

/* A limit on the size of files cuts a write in the middle; what is left of it then fails. */
static void a_file_size_limit(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        kymo_atomic_file file;
        struct rlimit limit = {1000, 1000};
        char data[1500] = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        if (kymo_atomic_file_open(&file, "out", 0, NULL) != KYMO_OK)
            _exit(1);
        if (kymo_sink_write(&file.sink, data, sizeof data) != KYMO_E_NO_SPACE || file.bytes != 1000)
            _exit(2);
        kymo_atomic_file_abandon(&file);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(files_here(), 0);
}

static void links_stay_links(void **state)
{
    (void)state;
    kymo_atomic_file file;
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    put("elsewhere/target", "old");
    assert_int_equal(symlink("elsewhere/target", "out"), 0);
    assert_int_equal(kymo_atomic_file_open(&file, "out", 1, NULL), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("elsewhere/target", "new");
    struct stat st;
    assert_int_equal(lstat("out", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* In a folder of another user's root must not write where that user's link leads. */
static void links_of_others_are_replaced(void **state)
{
    (void)state;
    kymo_atomic_file file;
    kymo_error detail;
    struct stat st;
    if (geteuid() != 0)
        skip();
    put("precious", "old");
    assert_int_equal(symlink("precious", "out"), 0);
    assert_int_equal(lchown("out", 65534, 65534), 0);
    assert_int_equal(kymo_atomic_file_open(&file, "out", 0, &detail), KYMO_E_EXISTS);
    assert_int_equal(kymo_atomic_file_open(&file, "out", 1, &detail), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("precious", "old");
    has("out", "new");
    assert_int_equal(lstat("out", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    /* Nor into a device. */
    assert_int_equal(symlink("/dev/full", "device"), 0);
    assert_int_equal(lchown("device", 65534, 65534), 0);
    assert_int_equal(kymo_atomic_file_open(&file, "device", 1, &detail), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "x", 1), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("device", "x");
}

static void write_new(const char *path)
{
    kymo_atomic_file file;
    assert_int_equal(kymo_atomic_file_open(&file, path, 1, NULL), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
}

/* Root's own link, as kymo.latest.kymo is, may lead to one that the folder's owner made. */
static void links_behind_a_link_are_looked_at_too(void **state)
{
    (void)state;
    struct stat st;
    if (geteuid() != 0)
        skip();
    put("precious", "old");
    assert_int_equal(symlink("second", "first"), 0);
    assert_int_equal(symlink("precious", "second"), 0);
    write_new("first");
    has("precious", "new");
    put("precious", "old");
    assert_int_equal(lchown("second", 65534, 65534), 0);
    write_new("first");
    has("precious", "old");
    has("second", "new");
    assert_int_equal(lstat("first", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* A user who can write to the folder can move a link of ours there that meant something else. */
static void links_where_others_can_write_are_replaced(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(mkdir("open", 0777), 0);
    assert_int_equal(chmod("open", 01777), 0);
    put("precious", "old");
    assert_int_equal(symlink("../precious", "open/out"), 0);
    write_new("open/out");
    has("precious", "old");
    has("open/out", "new");
    assert_int_equal(lstat("open/out", &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

static void a_chain_keeps_its_links(void **state)
{
    (void)state;
    struct stat st;
    char here[128];
    char target[192];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(mkdir("a", 0755), 0);
    assert_int_equal(mkdir("b", 0755), 0);
    put("b/target", "old");
    snprintf(target, sizeof target, "%s/a/second", here);
    assert_int_equal(symlink(target, "first"), 0);
    assert_int_equal(symlink("../b/target", "a/second"), 0);
    write_new("first");
    has("b/target", "new");
    assert_int_equal(lstat("a/second", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    /* One that leads nowhere is what is replaced. */
    assert_int_equal(symlink("loop", "loop"), 0);
    write_new("loop");
    assert_int_equal(lstat("loop", &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

/* What has the name in an open folder is replaced, wherever it leads. */
static void in_a_folder_no_link_is_followed(void **state)
{
    (void)state;
    kymo_atomic_file file;
    kymo_error detail;
    put("precious", "old");
    assert_int_equal(symlink("precious", "out"), 0);
    int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    assert_int_equal(kymo_atomic_file_open_in(&file, folder, "out", 0, &detail), KYMO_E_EXISTS);
    assert_int_equal(kymo_atomic_file_open_in(&file, folder, "out", 1, &detail), KYMO_OK);
    close(folder);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("precious", "old");
    has("out", "new");
    assert_int_equal(files_here(), 2);
}

/* The folder's path may lead elsewhere when the file is complete. */
static void the_folder_stays_the_one_that_was_opened(void **state)
{
    (void)state;
    kymo_atomic_file file;
    assert_int_equal(mkdir("mine", 0777), 0);
    assert_int_equal(mkdir("precious", 0777), 0);
    put("precious/out", "old");
    assert_int_equal(kymo_atomic_file_open(&file, "mine/out", 1, NULL), KYMO_OK);
    assert_int_equal(kymo_sink_write(&file.sink, "new", 3), KYMO_OK);
    assert_int_equal(rename("mine", "moved"), 0);
    assert_int_equal(symlink("precious", "mine"), 0);
    assert_int_equal(kymo_atomic_file_commit(&file), KYMO_OK);
    has("precious/out", "old");
    has("moved/out", "new");
}

/* A pipe has no path, and its link is the system's. */
static void standard_output_is_written_into(void **state)
{
    (void)state;
    int ends[2];
    char text[8] = "";
    assert_int_equal(pipe(ends), 0);
    int before = dup(STDOUT_FILENO);
    assert_true(before >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0);
    kymo_atomic_file file;
    kymo_err err = kymo_atomic_file_open(&file, "/dev/stdout", 1, NULL);
    if (err == KYMO_OK)
        err = kymo_sink_write(&file.sink, "text", 4);
    if (err == KYMO_OK)
        err = kymo_atomic_file_commit(&file);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    assert_int_equal(err, KYMO_OK);
    assert_int_equal(read(ends[0], text, sizeof text), 4);
    assert_string_equal(text, "text");
    close(before);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        T(appears_when_complete),
        T(abandon_leaves_nothing),
        T(what_a_killed_process_left),
        T(existing_files),
        T(two_writers_of_one_name),
        T(places_that_cannot_be_written),
        T(a_full_disk),
        T(a_file_size_limit),
        T(links_stay_links),
        T(links_of_others_are_replaced),
        T(links_behind_a_link_are_looked_at_too),
        T(links_where_others_can_write_are_replaced),
        T(a_chain_keeps_its_links),
        T(in_a_folder_no_link_is_followed),
        T(the_folder_stays_the_one_that_was_opened),
        T(standard_output_is_written_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
