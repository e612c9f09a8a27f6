/* SPDX-License-Identifier: Apache-2.0 */
#include "jitdump_builder.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/str.h"
#include "symbolize/code_file.h"

static bool all(void *user, uint64_t start, uint64_t size_bytes)
{
    (void)user;
    (void)start;
    (void)size_bytes;
    return true;
}

static bool at_10(void *user, uint64_t start, uint64_t size_bytes)
{
    (void)user;
    return start <= 0x10 && 0x10 - start < size_bytes;
}

/* "START+SIZE NAME;" of each entry. */
static void check(const char *map, size_t len, kymo_code_wanted wanted, const char *expected)
{
    kymo_code_entries entries = {0};
    kymo_str s = {0};
    char name[KYMO_CODE_ENTRY_NAME_MAX + 1];
    bool cut;
    int fd = file_of(map, len);
    assert_int_equal(kymo_perf_map_read(fd, wanted, NULL, &entries, &cut), KYMO_OK);
    assert_false(cut);
    for (size_t i = 0; i < entries.len; i++) {
        kymo_code_entry_name(fd, &entries.data[i], name);
        kymo_str_printf(&s, "%" PRIx64 "+%" PRIx64 " %s;", entries.data[i].start,
                        entries.data[i].size_bytes, name);
    }
    assert_string_equal(kymo_str_cstr(&s), expected);
    kymo_str_deinit(&s);
    kymo_vec_deinit(&entries);
    close(fd);
}

static void lines_are_read(void **state)
{
    (void)state;
    static const char map[] = "10 20 one\n"
                              "0x0000000000000030 0x5 two of three\r\n"
                              "7fFF0 A  spaces before \n"
                              "40 8 half";
    check(map, sizeof map - 1, all, "10+20 one;30+5 two of three;7fff0+a spaces before;");
    check(map, sizeof map - 1, at_10, "10+20 one;");
    check("", 0, all, "");
}

static void what_is_no_line_is_left_out(void **state)
{
    (void)state;
    static const char map[] = "\n \n10\n10 \n10 20\n10 20 \n10 0 empty\nxyz 1 a\n10 2z a\n"
                              "ffffffffffffffff 2 wraps\n11111111111111111 1 long\n"
                              "0x 1 a\n\xff\xfe\0 \n1 1 good\n";
    check(map, sizeof map - 1, all, "1+1 good;");
}

/* Lines on the borders of the pieces in which a file is read, and one longer than a piece. */
static void any_length_is_read(void **state)
{
    (void)state;
    size_t len = 300000;
    char *map = malloc(len);
    kymo_code_entries entries = {0};
    char name[KYMO_CODE_ENTRY_NAME_MAX + 1];
    bool cut;
    for (size_t first = 65520; first < 65550; first++) {
        memset(map, 'x', len);
        memcpy(map, "1 1 a", 5);
        map[first] = '\n';
        memcpy(map + first + 1, "2 2 b", 5);
        map[200000] = '\n';
        memcpy(map + 200001, "3 3 c\n", 6);
        int fd = file_of(map, 200007);
        entries.len = 0;
        assert_int_equal(kymo_perf_map_read(fd, all, NULL, &entries, &cut), KYMO_OK);
        assert_int_equal(entries.len, 3);
        for (uint64_t i = 0; i < 3; i++) {
            assert_int_equal(entries.data[i].start, i + 1);
            kymo_code_entry_name(fd, &entries.data[i], name);
            assert_int_equal(name[0], "abc"[i]);
            assert_int_equal(strlen(name), i < 2 ? KYMO_CODE_ENTRY_NAME_MAX : 1);
        }
        /* Shorter than it was: the name is gone. */
        assert_int_equal(ftruncate(fd, 100), 0);
        kymo_code_entry_name(fd, &entries.data[2], name);
        assert_string_equal(name, "");
        close(fd);
    }
    kymo_vec_deinit(&entries);
    free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(what_is_no_line_is_left_out),
        cmocka_unit_test(any_length_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
