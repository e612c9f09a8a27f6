/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this very process says of code that it never made: in /tmp/perf-PID.map and in a jitdump.
 */
#include "jitdump_builder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/str.h"
#include "recording/event_text.h"
#include "symbolize/jit_code.h"
#include "sys/clock.h"

static char map_path[64];
static kymo_jit_code *jit;

static void write_map(const char *text)
{
    FILE *f = fopen(map_path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int begin(void **state)
{
    (void)state;
    snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
    unlink(map_path);
    return kymo_jit_code_create(getpid(), &jit) == KYMO_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    kymo_jit_code_destroy(jit);
    unlink(map_path);
    return 0;
}

static void hit(uint64_t address)
{
    assert_int_equal(kymo_jit_code_hit(jit, address), KYMO_OK);
}

static void check(const char *expected)
{
    kymo_str s = {0};
    assert_int_equal(kymo_jit_code_write(jit, 3, &event_text_handler, &s), KYMO_OK);
    assert_string_equal(kymo_str_cstr(&s), expected);
    kymo_str_deinit(&s);
}

static void what_was_hit_is_written(void **state)
{
    (void)state;
    write_map("1000 100 first\n2000 100 never ran\n1080 100 later\n3000 10 third\n1000 8 head\n");
    hit(0x3005);
    hit(0x1000);
    hit(0x1070);
    hit(0x1090);
    hit(0x1090);
    hit(0x5000);
    check("code process=3 start=0x1000 size=256 from=0 to=0 name=\"first\"\n"
          "code process=3 start=0x1080 size=256 from=0 to=0 name=\"later\"\n"
          "code process=3 start=0x3000 size=16 from=0 to=0 name=\"third\"\n"
          "code process=3 start=0x1000 size=8 from=0 to=0 name=\"head\"\n");
}

/* More than the limit over the life of a process, and each file has names of its own. */
static void forgotten_hits_make_room(void **state)
{
    (void)state;
    write_map("1000 100 first\n2000 100 second\n");
    hit(0x1000);
    for (uint64_t i = 0; i < 1u << 18; i++)
        hit(0x100000 + i);
    kymo_jit_code_forget_hits(jit);
    hit(0x2000);
    check("code process=3 start=0x2000 size=256 from=0 to=0 name=\"second\"\n");
}

static void an_entry_that_another_hides_is_not_written(void **state)
{
    (void)state;
    write_map("1000 100 old\n1000 100 new\n");
    hit(0x1000);
    hit(0x10ff);
    check("code process=3 start=0x1000 size=256 from=0 to=0 name=\"new\"\n");
}

static void nothing_hit_is_nothing_to_do(void **state)
{
    (void)state;
    write_map("1000 100 old\n");
    kymo_jit_code_look(jit, 1);
    check("");
    check("");
    assert_int_equal(kymo_jit_code_write(NULL, 0, &event_text_handler, NULL), KYMO_OK);
    assert_int_equal(kymo_jit_code_hit(NULL, 1), KYMO_OK);
}

/* A program may remove its map as it ends. */
static void a_map_is_kept_open(void **state)
{
    (void)state;
    write_map("1000 100 old\n");
    hit(0x1000);
    kymo_jit_code_look(jit, 1);
    assert_int_equal(unlink(map_path), 0);
    check("code process=3 start=0x1000 size=256 from=0 to=0 name=\"old\"\n");
}

/* ... or write it only then, over what there was. */
static void the_name_counts_before_what_was_open(void **state)
{
    (void)state;
    write_map("1000 100 old\n");
    hit(0x1000);
    kymo_jit_code_look(jit, 1);
    assert_int_equal(unlink(map_path), 0);
    write_map("1000 100 new\n");
    check("code process=3 start=0x1000 size=256 from=0 to=0 name=\"new\"\n");
}

/* Pids come again, and anybody may write into /tmp. */
static void files_of_others_do_not_count(void **state)
{
    (void)state;
    hit(0x1000);
    write_map("1000 100 of a dead process\n");
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, map_path, old, 0), 0);
    check("");
    char target[80];
    snprintf(target, sizeof target, "%s.target", map_path);
    assert_int_equal(rename(map_path, target), 0);
    write_map("1000 100 somewhere else\n");
    assert_int_equal(rename(map_path, target), 0);
    assert_int_equal(symlink(target, map_path), 0);
    check("");
    unlink(target);
    unlink(map_path);
    assert_int_equal(mkfifo(map_path, 0600), 0);
    check("");
    unlink(map_path);
    if (geteuid() == 0) {
        write_map("1000 100 of another user\n");
        assert_int_equal(chown(map_path, 4711, 4711), 0);
        check("");
    }
}

static void a_mapped_jitdump_is_found(void **state)
{
    (void)state;
    char folder[] = "/tmp/kymo-jitdump.XXXXXX";
    char path[96];
    kymo_bytes file;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/jit-77.dump", folder);
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    kymo_bytes_init(&file, 1u << 20);
    put_jitdump_header(&file, 0, 0);
    put_load(&file, now_ns - 1000, 0x1000, 0x50, 1, "early");
    put_load(&file, now_ns, 0x1000, 0x50, 2, "late");
    put_load(&file, now_ns + 3600 * 1000000000ull, 0x1000, 0x50, 2, "of another clock");
    put_load(&file, now_ns, 0x2000, 0x50, 3, "never ran");
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file.data, file.len), (ssize_t)file.len);
    void *mark = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(mark, MAP_FAILED);
    close(fd);
    hit(0x1010);
    kymo_jit_code_look(jit, 1);
    munmap(mark, 4096);
    unlink(path);
    rmdir(folder);
    char expected[512];
    snprintf(expected, sizeof expected,
             "code process=3 start=0x1000 size=80 from=%llu to=0 name=\"early\"\n"
             "code process=3 start=0x1000 size=80 from=%llu to=0 name=\"late\"\n"
             "code process=3 start=0x1000 size=80 from=0 to=0 name=\"of another clock\"\n",
             (unsigned long long)now_ns - 1000, (unsigned long long)now_ns);
    check(expected);
    kymo_bytes_deinit(&file);
}

/* A part of a file of a module, mapped at another place, too. */
static void code_that_is_mapped_twice_is_told(void **state)
{
    (void)state;
    char folder[] = "/tmp/kymo-mapped.XXXXXX";
    char path[96];
    static const uint8_t id[4] = {1, 2, 3, 4};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 65536), 0);
    void *map = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 16384);
    assert_ptr_not_equal(map, MAP_FAILED);
    kymo_event_module module = {.module = 1,
                                .process = 3,
                                .start = 0x401000,
                                .end = 0x409000,
                                .load_bias = 0x400000 - 0x10000,
                                .file_offset = 4096,
                                .load_ns = 5,
                                .path = path,
                                .build_id = id,
                                .build_id_len = sizeof id};
    assert_int_equal(kymo_jit_code_module(jit, &module), KYMO_OK);
    hit((uintptr_t)map + 100);
    kymo_jit_code_look(jit, 1);
    munmap(map, 8192);
    close(fd);
    unlink(path);
    rmdir(folder);
    char expected[512];
    /* 0x4000 of the file is 0x404000 of the module, 0x14000 of the ELF file. */
    snprintf(expected, sizeof expected,
             "module 3758096384 process=3 start=%#llx end=%#llx bias=%#llx offset=0x4000 load=0 "
             "main=0 build_id=01020304 path=\"%s\"\n",
             (unsigned long long)(uintptr_t)map, (unsigned long long)(uintptr_t)map + 8192,
             (unsigned long long)(uintptr_t)map - 0x14000, path);
    check(expected);
}

/* Each line of a hostile map covers all that was hit. */
static void overlaps_are_bounded(void **state)
{
    (void)state;
    FILE *f = fopen(map_path, "w");
    assert_non_null(f);
    for (int i = 0; i < 100000; i++)
        fprintf(f, "1 fffffff f%d\n", i);
    fclose(f);
    for (uint64_t i = 0; i < 100000; i++)
        hit(0x1000 + i * 16);
    check("code process=3 start=0x1 size=268435455 from=0 to=0 name=\"f99999\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_hit_is_written, begin, end),
        cmocka_unit_test_setup_teardown(forgotten_hits_make_room, begin, end),
        cmocka_unit_test_setup_teardown(an_entry_that_another_hides_is_not_written, begin, end),
        cmocka_unit_test_setup_teardown(nothing_hit_is_nothing_to_do, begin, end),
        cmocka_unit_test_setup_teardown(a_map_is_kept_open, begin, end),
        cmocka_unit_test_setup_teardown(the_name_counts_before_what_was_open, begin, end),
        cmocka_unit_test_setup_teardown(files_of_others_do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(a_mapped_jitdump_is_found, begin, end),
        cmocka_unit_test_setup_teardown(code_that_is_mapped_twice_is_told, begin, end),
        cmocka_unit_test_setup_teardown(overlaps_are_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
