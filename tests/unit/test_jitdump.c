/* SPDX-License-Identifier: Apache-2.0 */
#include "jitdump_builder.h"

#include <inttypes.h>

#include "base/str.h"
#include "symbolize/code_file.h"

static kymo_bytes file;

static int begin(void **state)
{
    (void)state;
    kymo_bytes_init(&file, 16u << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kymo_bytes_deinit(&file);
    return 0;
}

/* "START+SIZE FROM-TO NAME[ +OFFSET FILE:LINE:COLUMN...];" of each entry. */
static void check(const char *expected)
{
    kymo_code_entries entries = {0};
    kymo_code_lines lines = {0};
    kymo_jitdump info;
    kymo_str s = {0};
    char name[KYMO_CODE_ENTRY_NAME_MAX + 1];
    int fd = file_of(file.data, file.len);
    assert_int_equal(kymo_jitdump_read(fd, &info, &entries), KYMO_OK);
    assert_false(info.cut);
    for (size_t i = 0; i < entries.len; i++) {
        const kymo_code_entry *e = &entries.data[i];
        kymo_code_entry_name(fd, e, name);
        kymo_str_printf(&s, "%" PRIx64 "+%" PRIx64 " %" PRIu64 "-%" PRIu64 " %s", e->start,
                        e->size_bytes, e->from, e->to, name);
        assert_int_equal(kymo_jitdump_lines(fd, &info, e, &lines), KYMO_OK);
        for (size_t k = 0; k < lines.lines.len; k++) {
            const kymo_event_code_line *l = &lines.lines.data[k];
            kymo_str_printf(&s, " +%x %s:%u:%u", l->offset, lines.files.data[l->file], l->line,
                            l->column);
        }
        kymo_str_puts(&s, ";");
    }
    assert_string_equal(kymo_str_cstr(&s), expected);
    kymo_str_deinit(&s);
    kymo_code_lines_deinit(&lines);
    kymo_vec_deinit(&entries);
    close(fd);
}

static void loads_and_moves(void **state)
{
    (void)state;
    put_jitdump_header(&file, 0, 0);
    put_load(&file, 100, 0x1000, 0x50, 1, "one");
    put_record(&file, 4, 8, 100); /* unwinding, and a record of a later version */
    put64(&file, 0);
    put_record(&file, 99, 4, 100);
    put32(&file, 0);
    put_load(&file, 200, 0x2000, 0x60, 2, "two");
    put_load(&file, 210, 0x9000, 0, 3, "empty");
    put_move(&file, 300, 0x1000, 0x3000, 1);
    put_move(&file, 400, 0x3000, 0x4000, 1);
    put_move(&file, 400, 0x3000, 0x4000, 77); /* of what was never loaded */
    put_record(&file, 3, 0, 500);
    put_load(&file, 600, 0x5000, 0x60, 4, "after the end");
    check("1000+50 100-300 one;2000+60 200-0 two;3000+50 300-400 one;4000+50 400-0 one;");
}

/* A file may use one index for all code: it is that of the newest. Reading each in the time that
 * the ones before take would be seconds for so many. */
static void an_index_that_is_used_again(void **state)
{
    enum { COUNT = 100000 };
    (void)state;
    kymo_code_entries entries = {0};
    kymo_jitdump info;
    put_jitdump_header(&file, 0, 0);
    for (uint64_t i = 0; i < COUNT; i++)
        put_load(&file, 100 + i, 0x100000 + 0x10 * i, 0x10, 7, "again");
    put_move(&file, 1000000, 0x100000, 0x10, 7);
    int fd = file_of(file.data, file.len);
    assert_int_equal(kymo_jitdump_read(fd, &info, &entries), KYMO_OK);
    assert_int_equal(entries.len, COUNT + 1);
    assert_int_equal(entries.data[0].to, 0);
    assert_int_equal(entries.data[COUNT - 1].to, 1000000);
    assert_int_equal(entries.data[COUNT].start, 0x10);
    kymo_vec_deinit(&entries);
    close(fd);
}

static void put_lines(uint64_t start, const uint64_t (*lines)[3], size_t n,
                      const char *const *files)
{
    size_t bytes = 16;
    for (size_t i = 0; i < n; i++)
        bytes += 16 + strlen(files[i]) + 1;
    put_record(&file, 2, bytes, 90);
    put64(&file, start);
    put64(&file, n);
    for (size_t i = 0; i < n; i++) {
        put64(&file, lines[i][0]);
        put32(&file, (uint32_t)lines[i][1]);
        put32(&file, (uint32_t)lines[i][2]);
        put_name(&file, files[i]);
    }
}

static void lines_are_of_the_next_load(void **state)
{
    (void)state;
    static const uint64_t lines[][3] = {
        {0x1000, 5, 1}, {0x1010, 6, 2}, {0x1020, 7, 3}, {0x1050, 8, 4}, {0xfff, 9, 5}};
    static const char *const files[] = {"/a.c", "\xff", "/b.c", "/a.c", "/a.c"};
    put_jitdump_header(&file, 0, 0);
    put_lines(0x1000, lines, 5, files);
    put_load(&file, 100, 0x1000, 0x50, 1, "one");
    put_load(&file, 110, 0x1000, 0x50, 2, "again, without");
    put_lines(0x2000, lines, 1, files);
    put_load(&file, 120, 0x3000, 0x50, 3, "another");
    put_move(&file, 130, 0x1000, 0x7000, 1);
    check("1000+50 100-130 one +0 /a.c:5:1 +10 /a.c:6:2 +20 /b.c:7:3;"
          "1000+50 110-0 again, without;3000+50 120-0 another;"
          "7000+50 130-0 one +0 /a.c:5:1 +10 /a.c:6:2 +20 /b.c:7:3;");
}

/* Addresses as if behind an ELF header, and names of files with anything in them. */
static void lines_of_v8(void **state)
{
    (void)state;
    static const char odd[] = "8\0\0gone\0";
    put_jitdump_header(&file, 0xdeadbeef, 0);
    put_record(&file, 2, 16 + 2 * (16 + sizeof odd), 90);
    put64(&file, 0x1000);
    put64(&file, 2);
    for (uint32_t i = 0; i < 2; i++) {
        put64(&file, 0x1040 + i * 0x10);
        put32(&file, 5 + i);
        put32(&file, 1 + i);
        assert_int_equal(kymo_bytes_append(&file, odd, sizeof odd), KYMO_OK);
    }
    put_load(&file, 100, 0x1000, 0x50, 1, "JS:*f /a.js:5:1");
    check("1000+50 100-0 JS:*f /a.js:5:1 +0 :5:1 +10 :6:2;");
}

/* The same addresses of another compiler, whose names are right. */
static void lines_of_llvm(void **state)
{
    (void)state;
    static const uint64_t lines[][3] = {{0x1040, 5, 1}, {0x1090, 9, 1}};
    static const char *const files[] = {"/a.c", "/a.c"};
    put_jitdump_header(&file, 0, 0);
    put_lines(0x1000, lines, 2, files);
    put_load(&file, 100, 0x1000, 0x50, 1, "one");
    check("1000+50 100-0 one +0 /a.c:5:1;");
}

static void a_cut_file_gives_what_is_whole(void **state)
{
    (void)state;
    put_jitdump_header(&file, 0, 1);
    put_load(&file, 100, 0x1000, 0x50, 1, "one");
    size_t whole = file.len;
    put_load(&file, 200, 0x2000, 0x50, 2, "two");
    size_t all = file.len;
    for (size_t len = 0; len < all; len++) {
        kymo_code_entries entries = {0};
        kymo_jitdump info = {0};
        int fd = file_of(file.data, len);
        kymo_err err = kymo_jitdump_read(fd, &info, &entries);
        assert_int_equal(err, len < 40 ? KYMO_E_CORRUPT : KYMO_OK);
        assert_int_equal(entries.len, len >= whole);
        if (err == KYMO_OK)
            assert_true(info.counts_ticks);
        kymo_vec_deinit(&entries);
        close(fd);
    }
}

static void impossible_sizes_are_no_harm(void **state)
{
    (void)state;
    put_jitdump_header(&file, 0, 0);
    put_load(&file, 100, UINT64_MAX - 5, 5, 1, "up to the last byte");
    put_load(&file, 100, UINT64_MAX - 5, 6, 1, "beyond it");
    put_move(&file, 100, 0, UINT64_MAX, 1);
    put_record(&file, 2, 16, 100);
    put64(&file, 0x5000);
    put64(&file, UINT64_MAX); /* lines */
    put_load(&file, 100, 0x5000, 6, 2, "f");
    put_record(&file, 0, 20, 100); /* a load without its fields */
    for (int i = 0; i < 5; i++)
        put32(&file, 1);
    put_record(&file, 1, 0, 100);
    put_record(&file, 2, 0, 100);
    put32(&file, 0);
    put32(&file, 8); /* less than a record's head: where the next is is unknown */
    put64(&file, 100);
    put_load(&file, 100, 0x6000, 6, 3, "behind");
    check("fffffffffffffffa+5 100-0 up to the last byte;5000+6 100-0 f;");
}

static void other_files_are_refused(void **state)
{
    (void)state;
    kymo_code_entries entries = {0};
    kymo_jitdump info;
    put32(&file, 0x4454694a);
    for (int i = 0; i < 20; i++)
        put32(&file, 0);
    int fd = file_of(file.data, file.len);
    assert_int_equal(kymo_jitdump_read(fd, &info, &entries), KYMO_E_UNSUPPORTED);
    assert_int_equal(pwrite(fd, "ELF", 3, 0), 3);
    assert_int_equal(kymo_jitdump_read(fd, &info, &entries), KYMO_E_CORRUPT);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_and_moves, begin, end),
        cmocka_unit_test_setup_teardown(an_index_that_is_used_again, begin, end),
        cmocka_unit_test_setup_teardown(lines_are_of_the_next_load, begin, end),
        cmocka_unit_test_setup_teardown(lines_of_v8, begin, end),
        cmocka_unit_test_setup_teardown(lines_of_llvm, begin, end),
        cmocka_unit_test_setup_teardown(a_cut_file_gives_what_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(impossible_sizes_are_no_harm, begin, end),
        cmocka_unit_test_setup_teardown(other_files_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
