/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/atomic_file.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each test works in a new folder, and says what must be in it at the end. */
static int enter(void **state)
{
    char *folder = strdup("/tmp/kymo-atomic-XXXXXX");
    if (!folder || !mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    *state = folder;
    return 0;
}

static int leave(void **state)
{
    char command[128];
    int status = chdir("/");
    snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
    status |= system(command);
    free(*state);
    return status;
}

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

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void has(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, expected);
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
    assert_int_equal(st.st_mode & 0777, 0644);
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        T(appears_when_complete),
        T(abandon_leaves_nothing),
        T(existing_files),
        T(two_writers_of_one_name),
        T(places_that_cannot_be_written),
        T(a_full_disk),
        T(a_file_size_limit),
        T(links_stay_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
