/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reporter.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "empty_folder.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static const struct kymo_agent_identity who = {
    .program = "my server", .host = "host.example", .pid = 42};

static struct kymo_interval_profile profile_of(const char *content, uint64_t number)
{
    int fd = memfd_create("profile", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    return (struct kymo_interval_profile){.fd = fd,
                                          .bytes = strlen(content),
                                          .extension = ".jfr",
                                          .start_ns = 1764202470123456789ull,
                                          .end_ns = 1764202500123456789ull,
                                          .number = number,
                                          .who = &who};
}

static struct kymo_reporter to_folder(void)
{
    struct kymo_reporter r = {.kind = &kymo_reporter_local, .target = "d"};
    OK(r.kind->check(&r, NULL));
    return r;
}

static kymo_err report(const struct kymo_reporter *r, const char *content, uint64_t number,
                       kymo_error *detail)
{
    struct kymo_interval_profile p = profile_of(content, number);
    kymo_err err = r->kind->report(r, &p, detail);
    close(p.fd);
    return err;
}

static unsigned count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(dir);
    return n;
}

static void a_file_has_a_name_of_its_own(void **state)
{
    (void)state;
    struct stat st;
    const struct kymo_reporter r = to_folder();
    OK(report(&r, "one", 1, NULL));
    has("d/my_server.host_example.42.2025-11-27T00-14-30.123Z.1.jfr", "one");
    assert_int_equal(stat("d/my_server.host_example.42.2025-11-27T00-14-30.123Z.1.jfr", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* A restart with the same pid in the same millisecond: the first file stays. */
    OK(report(&r, "two", 1, NULL));
    has("d/my_server.host_example.42.2025-11-27T00-14-30.123Z.1.jfr", "one");
    has("d/my_server.host_example.42.2025-11-27T00-14-30.123Z.1-1.jfr", "two");
    assert_int_equal(count_files("d"), 2);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    struct kymo_reporter r = to_folder();
    put("target", "precious");
    assert_int_equal(
        symlink("../target", "d/my_server.host_example.42.2025-11-27T00-14-30.123Z.1.jfr"), 0);
    OK(report(&r, "one", 1, NULL));
    has("target", "precious");
    has("d/my_server.host_example.42.2025-11-27T00-14-30.123Z.1-1.jfr", "one");
    /* Nor is the folder, when it has become one. */
    assert_int_equal(rename("d", "e"), 0);
    assert_int_equal(symlink("e", "d"), 0);
    kymo_error detail;
    assert_int_not_equal(report(&r, "two", 2, &detail), KYMO_OK);
}

static void make_old(const char *name, int64_t age_seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age_seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void put_old(const char *name, int64_t age_seconds)
{
    put(name, "0123456789");
    make_old(name, age_seconds);
}

static void the_newest_are_kept(void **state)
{
    (void)state;
    struct kymo_reporter r = to_folder();
    put_old("d/my_server.host_example.1.a.kymo", 500);
    put_old("d/my_server.host_example.1.b.kymo", 400);
    put_old("d/my_server.host_example.1.c.kymo", 300);
    put_old("d/another.host_example.1.a.kymo", 9999);
    put_old("d/notes", 9999);
    r.keep.files = 3;
    OK(report(&r, "one", 1, NULL));
    assert_int_equal(access("d/my_server.host_example.1.a.kymo", F_OK), -1);
    has("d/my_server.host_example.1.b.kymo", "0123456789");
    r.keep = (struct kymo_retention){.bytes = 16};
    OK(report(&r, "two", 2, NULL));
    assert_int_equal(access("d/my_server.host_example.1.b.kymo", F_OK), -1);
    has("d/my_server.host_example.1.c.kymo", "0123456789");
    r.keep = (struct kymo_retention){.age_ns = 100000000000ull};
    OK(report(&r, "three", 3, NULL));
    assert_int_equal(access("d/my_server.host_example.1.c.kymo", F_OK), -1);
    /* One that is larger than all that is to be kept is kept. */
    r.keep = (struct kymo_retention){.bytes = 2};
    OK(report(&r, "four", 4, NULL));
    has("d/my_server.host_example.42.2025-11-27T00-14-30.123Z.4.jfr", "four");
    /* Others' files are none of ours. */
    has("d/another.host_example.1.a.kymo", "0123456789");
    has("d/notes", "0123456789");
    assert_int_equal(count_files("d"), 3);
}

static void nothing_half_written_stays(void **state)
{
    (void)state;
    const struct kymo_reporter r = to_folder();
    kymo_error detail;
    struct kymo_interval_profile p = profile_of("one", 1);
    p.bytes = 100; /* the file ends before */
    assert_int_not_equal(r.kind->report(&r, &p, &detail), KYMO_OK);
    close(p.fd);
    assert_int_equal(count_files("d"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_has_a_name_of_its_own, enter, leave),
        cmocka_unit_test_setup_teardown(links_are_not_followed, enter, leave),
        cmocka_unit_test_setup_teardown(the_newest_are_kept, enter, leave),
        cmocka_unit_test_setup_teardown(nothing_half_written_stays, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
