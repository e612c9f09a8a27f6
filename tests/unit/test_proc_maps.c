/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc_maps.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "unit.h"

static void a_line_has_all_fields(void **state)
{
    (void)state;
    struct kymo_proc_mapping m;
    char line[] = "7f01-7f02 r-xp 0001a000 fe:0b 1234   /usr/lib/a b.so\n";
    assert_int_equal(kymo_proc_mapping_parse(line, &m), 1);
    assert_int_equal(m.start, 0x7f01);
    assert_int_equal(m.end, 0x7f02);
    assert_int_equal(m.offset, 0x1a000);
    assert_int_equal(m.device_major, 0xfe);
    assert_int_equal(m.device_minor, 0x0b);
    assert_int_equal(m.inode, 1234);
    assert_true(m.is_readable && !m.is_writable && m.is_executable && !m.is_shared);
    assert_false(m.is_deleted);
    assert_string_equal(m.path, "/usr/lib/a b.so");
    assert_int_equal(m.path_len, strlen("/usr/lib/a b.so"));
}

static void lines_without_a_path(void **state)
{
    (void)state;
    struct kymo_proc_mapping m;
    char anonymous[] = "1-2 rw-s 00000000 00:00 0 \n";
    assert_int_equal(kymo_proc_mapping_parse(anonymous, &m), 1);
    assert_string_equal(m.path, "");
    assert_true(m.is_writable && m.is_shared && !m.is_executable);
    char cut[] = "1-2 rw-p 00000000 00:00 0"; /* as where a line ends with its file */
    assert_int_equal(kymo_proc_mapping_parse(cut, &m), 1);
    assert_int_equal(m.path_len, 0);
}

static void deleted_files(void **state)
{
    (void)state;
    struct kymo_proc_mapping m;
    char line[] = "1-2 r--p 0 00:00 7 /tmp/jit-1.dump (deleted)";
    assert_int_equal(kymo_proc_mapping_parse(line, &m), 1);
    assert_true(m.is_deleted);
    assert_string_equal(m.path, "/tmp/jit-1.dump (deleted)");
    assert_int_equal(m.path_len, strlen("/tmp/jit-1.dump"));
    char inside[] = "1-2 r--p 0 00:00 7 /tmp/a (deleted)/b";
    assert_int_equal(kymo_proc_mapping_parse(inside, &m), 1);
    assert_false(m.is_deleted);
    char alone[] = "1-2 r--p 0 00:00 0 (deleted)";
    assert_int_equal(kymo_proc_mapping_parse(alone, &m), 1);
    assert_false(m.is_deleted);
}

static void other_lines_are_refused(void **state)
{
    (void)state;
    struct kymo_proc_mapping m;
    char bad[][48] = {"",
                      "1-",
                      "2-1 rw-p 0 00:00 0",
                      "1-1 rw-p 0 00:00 0",
                      "1-2 r",
                      "1-2 rwxp",
                      "1-2 rw-p 0 00 0",
                      "1-2 rw-p 0 00:00 ",
                      "1-2 rw-p 0 00:00 x",
                      "1-10000000000000000 rw-p 0 00:00 0",
                      "1-2 rw-p 0 00:00 99999999999999999999",
                      "g-2 rw-p",
                      "1-2rw-p 0 00:00 0",
                      "A-B rw-p 0 00:00 0",
                      "Rss:     12 kB"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++)
        assert_int_equal(kymo_proc_mapping_parse(bad[i], &m), 0);
}

/* Each line of the kernel's own file. */
static void own_mappings(void **state)
{
    (void)state;
    static char page[8192] __attribute__((aligned(4096)));
    char line[5000];
    int found = 0;
    assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
    FILE *f = fopen("/proc/self/maps", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        struct kymo_proc_mapping m;
        uint64_t address = (uint64_t)(uintptr_t)page;
        assert_int_equal(kymo_proc_mapping_parse(line, &m), 1);
        if (address >= m.start && address < m.end) {
            found++;
            assert_true(m.is_readable && !m.is_writable && !m.is_shared);
        }
    }
    fclose(f);
    assert_int_equal(found, 1);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_all_fields), cmocka_unit_test(lines_without_a_path),
        cmocka_unit_test(deleted_files),         cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(own_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
