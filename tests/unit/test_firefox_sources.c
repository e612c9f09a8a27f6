/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of source files in a Firefox file: of which files it is read. The folder of the test
 * has them; their times are set, not waited for.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encode/encoder.h"
#include "profile_fixture.h"

#define SECOND 1000000000ull
#define RECORDED 1700000000 /* when the recording ended, in seconds since 1970 */

static char folder[64];
static kymo_profile *profile;
static uint32_t thread;

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kymo-sources-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    profile = new_profile();
    kymo_meta meta = {.size = sizeof meta,
                      .origin_realtime_ns = (RECORDED - 1) * SECOND,
                      .end_ns = SECOND,
                      .period_ns = 1000000};
    ok(kymo_profile_set_meta(profile, &meta));
    thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    kymo_profile_destroy(profile);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    return 0;
}

/* A function of a source that is named so, with so much self time. */
static void add_self(const char *path, uint64_t self_ns)
{
    uint32_t frame;
    uint32_t function;
    kymo_function f = {.name = add_string(profile, path),
                       .source = add_source(profile, path),
                       .module = KYMO_NONE};
    ok(kymo_profile_add_function(profile, &f, &function));
    ok(kymo_profile_add_label_frame(profile, function, KYMO_CATEGORY_PROGRAM, &frame));
    ok(kymo_profile_add_sample(profile, thread, SECOND / 2, add_stack(profile, KYMO_NONE, frame),
                               self_ns, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING));
}

/* The same of a file that there is. */
static void add_file(const char *name, const char *text, size_t len, mode_t mode, time_t changed,
                     uint64_t self_ns)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
    struct timespec times[2] = {{.tv_sec = changed}, {.tv_sec = changed}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    add_self(path, self_ns);
}

static void assert_content(uint32_t flags, const char *content)
{
    kymo_bytes out;
    char part[256];
    kymo_encode_options options = {.size = sizeof options, .flags = flags};
    ok(kymo_profile_finish(profile));
    kymo_bytes_init(&out, 32 << 20);
    ok(kymo_encode(profile, kymo_format_for_path("x.json"), &out.sink, &options, NULL));
    ok(kymo_bytes_append(&out, "", 1));
    snprintf(part, sizeof part, "\"content\":[%s]", content);
    if (!strstr((const char *)out.data, part))
        fail_msg("no %s in %.3000s", part, strstr((const char *)out.data, "\"sources\""));
    kymo_bytes_deinit(&out);
}

static void text_is_there_unless_refused(void **state)
{
    (void)state;
    add_file("a.c", "int a;\n", 7, 0644, RECORDED, 10);
    add_file("b.c", "b\xff\n", 3, 0644, RECORDED - 1000, 10);
    assert_content(0, "\"int a;\\n\",\"b\xef\xbf\xbd\\n\"");
    assert_content(KYMO_ENCODE_NO_SOURCE, "null,null");
}

/* The debug information of a program may name any file. */
static void what_is_no_source_is_left_out(void **state)
{
    (void)state;
    uint32_t source;
    add_file("secret", "x", 1, 0644, RECORDED, 10);
    add_file("newer.c", "x", 1, 0644, RECORDED + 1, 10);
    add_file("binary.c", "x\0y", 3, 0644, RECORDED, 10);
    add_file("empty.c", "", 0, 0644, RECORDED, 10);
    ok(kymo_profile_add_source(profile, "relative.c", 10, &source));
    ok(kymo_profile_add_source(profile, "/tmp", 4, &source));
    assert_content(0, "null,null,null,null,null,null");
}

/* A name leads elsewhere by its dots, or by a link. */
static void the_name_that_counts_is_that_of_the_file_itself(void **state)
{
    (void)state;
    char path[160];
    char link[128];
    add_file("secret", "x", 1, 0644, RECORDED, 10);
    snprintf(path, sizeof path, "/usr/include/../..%s/secret", folder);
    add_self(path, 10);
    snprintf(path, sizeof path, "%s/secret", folder);
    snprintf(link, sizeof link, "%s/link.c", folder);
    assert_int_equal(symlink(path, link), 0);
    add_self(link, 10);
    add_file("there.c", "y", 1, 0644, RECORDED, 10);
    snprintf(link, sizeof link, "%s/../%s/there.c", folder, strrchr(folder, '/') + 1);
    add_self(link, 10);
    assert_content(0, "null,null,null,\"y\",\"y\"");
}

static void what_did_not_run_is_left_out(void **state)
{
    (void)state;
    add_file("idle.c", "x", 1, 0644, RECORDED, 0);
    assert_content(0, "null");
}

static void only_what_all_may_read_is_there(void **state)
{
    (void)state;
    add_file("own.c", "x", 1, 0600, RECORDED, 10);
    assert_content(0, "null");
}

/* A user's own folder is often closed, and what root's is, root alone may read. */
static void a_closed_folder_is_left_alone_unless_it_is_the_users(void **state)
{
    (void)state;
    add_file("own.c", "x", 1, 0644, RECORDED, 10);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_content(0, geteuid() == 0 ? "null" : "\"x\"");
}

static void those_that_ran_most_come_first(void **state)
{
    (void)state;
    size_t len = 3u << 20;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, '\n', len);
    add_file("large.c", text, len, 0644, RECORDED, 10);
    add_file("larger.c", text, len, 0644, RECORDED, 9);
    add_file("small.c", "x", 1, 0644, RECORDED, 1);
    kymo_bytes out;
    ok(kymo_profile_finish(profile));
    kymo_bytes_init(&out, 32 << 20);
    ok(kymo_encode(profile, kymo_format_for_path("x.json"), &out.sink, NULL, NULL));
    ok(kymo_bytes_append(&out, "", 1));
    assert_non_null(strstr((const char *)out.data, "\\n\",null,\"x\"]"));
    kymo_bytes_deinit(&out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_there_unless_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_source_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(the_name_that_counts_is_that_of_the_file_itself, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_did_not_run_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_all_may_read_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_folder_is_left_alone_unless_it_is_the_users, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(those_that_ran_most_come_first, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
