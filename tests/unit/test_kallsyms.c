/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/kallsyms.h"

#define BASE 0xffffffff9a000000ull

/* As a kernel of 6.1 has it, moved by KASLR: per-CPU variables first, a module last. */
static const char text[] = "0000000000000000 A fixed_percpu_data\n"
                           "0000000000001000 A cpu_debug_store\n"
                           "ffffffff9a000000 T startup_64\n"
                           "ffffffff9a000000 T _stext\n"
                           "ffffffff9a000000 T _text\n"
                           "ffffffff9a000100 t local_function\n"
                           "ffffffff9a000100 T __x64_sys_read\n"
                           "ffffffff9a000100 W weak_function\n"
                           "ffffffff9a000200 T ksys_read\n"
                           "ffffffff9a000300 D some_data\n"
                           "ffffffffc0300040 t helper\t[ext4]\n"
                           "ffffffffc0300000 t ext4_read\t[ext4]\n"
                           "ffffffffc0310000 t bpf_prog_1\t[bpf]\n";

#define KEY 0x1234567890abcdefull

static kymo_kallsyms *table;

static int begin(void **state)
{
    (void)state;
    return kymo_kallsyms_parse(text, sizeof text - 1, &table) == KYMO_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    kymo_kallsyms_destroy(table);
    return 0;
}

static void expect(uint64_t address, const char *name, const char *module, uint64_t from_module,
                   uint64_t offset)
{
    struct kymo_kallsym s;
    assert_true(kymo_kallsyms_find(table, address, &s));
    assert_string_equal(s.name, name);
    assert_string_equal(s.module, module);
    assert_int_equal(s.address, from_module);
    assert_int_equal(s.offset, offset);
    assert_true(s.number < kymo_kallsyms_count(table));
}

static void addresses_have_names(void **state)
{
    (void)state;
    expect(BASE + 0x100, "__x64_sys_read", KYMO_KERNEL_NAME, 0x100, 0);
    expect(BASE + 0x1ff, "__x64_sys_read", KYMO_KERNEL_NAME, 0x100, 0xff);
    expect(BASE + 0x200, "ksys_read", KYMO_KERNEL_NAME, 0x200, 0);
    /* Modules are not sorted, and each begins where its lowest symbol is. */
    expect(0xffffffffc0300010, "ext4_read", "[ext4]", 0, 0x10);
    expect(0xffffffffc0300050, "helper", "[ext4]", 0x40, 0x10);
    expect(0xffffffffc0310008, "bpf_prog_1", "[bpf]", 0, 8);
}

/* The room before a function is the function's, which begins behind it; of other names at its
 * address the better one stays. */
static void the_room_before_a_function_is_its_own(void **state)
{
    (void)state;
    static const char lines[] = "ffffffff9a000000 T _text\n"
                                "ffffffff9a000100 t before\n"
                                "ffffffff9a0001f0 t __pfx_ksys_read\n"
                                "ffffffff9a000200 t alias\n"
                                "ffffffff9a000200 T ksys_read\n"
                                "ffffffff9a000300 t __pfx_of_nothing\n"
                                "ffffffff9a000600 t after\n";
    kymo_kallsyms *whole = table;
    kymo_bytes bytes;
    kymo_bytes_init(&bytes, 1 << 20);
    assert_int_equal(kymo_kallsyms_parse(lines, sizeof lines - 1, &table), KYMO_OK);
    assert_int_equal(kymo_kallsyms_pack(table, KEY, &bytes), KYMO_OK);
    for (int packed = 0; packed < 2; packed++) {
        expect(BASE + 0x1ef, "before", KYMO_KERNEL_NAME, 0x100, 0xef);
        expect(BASE + 0x1f4, "ksys_read", KYMO_KERNEL_NAME, 0x200, 0);
        expect(BASE + 0x204, "ksys_read", KYMO_KERNEL_NAME, 0x200, 4);
        expect(BASE + 0x304, "__pfx_of_nothing", KYMO_KERNEL_NAME, 0x300, 4);
        kymo_kallsyms_destroy(table);
        if (!packed)
            assert_int_equal(kymo_kallsyms_unpack(&bytes, KEY, &table), KYMO_OK);
    }
    kymo_bytes_deinit(&bytes);
    table = whole;
}

static void what_has_no_name_gets_none(void **state)
{
    struct kymo_kallsym s;
    (void)state;
    assert_false(kymo_kallsyms_find(table, BASE - 1, &s));
    assert_false(kymo_kallsyms_find(table, 0x1000, &s));
    assert_false(kymo_kallsyms_find(table, 0, &s));
    assert_false(kymo_kallsyms_find(table, BASE + 0x300, &s));           /* data */
    assert_false(kymo_kallsyms_find(table, 0xffffffffc0300000 - 1, &s)); /* a gap behind data */
    assert_false(kymo_kallsyms_find(table, UINT64_MAX, &s));             /* far behind the last */
}

static void hidden_addresses_are_no_names(void **state)
{
    static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t f\t[ext4]\n";
    kymo_kallsyms *none;
    (void)state;
    assert_int_equal(kymo_kallsyms_parse(hidden, sizeof hidden - 1, &none), KYMO_E_NOT_FOUND);
    assert_int_equal(kymo_kallsyms_parse("", 0, &none), KYMO_E_NOT_FOUND);
}

/* Lines that are none, with one that is; the last one has no end. */
static void broken_lines_are_left_out(void **state)
{
    static const char broken[] = "\n\nnonsense\nffffffff9a00 T short\nffffffff9a000000T glued\n"
                                 "ffffffff9a000000 T \nffffffff9a000000 T\tx\n"
                                 "ffffffff9a000000 T fine\textra\nffffffff9a000010 T last";
    struct kymo_kallsym s;
    kymo_kallsyms *t;
    (void)state;
    assert_int_equal(kymo_kallsyms_parse(broken, sizeof broken - 1, &t), KYMO_OK);
    assert_int_equal(kymo_kallsyms_count(t), 2);
    assert_true(kymo_kallsyms_find(t, BASE, &s));
    assert_string_equal(s.name, "fine");
    assert_string_equal(s.module, KYMO_KERNEL_NAME);
    assert_true(kymo_kallsyms_find(t, BASE + 0x10, &s));
    assert_string_equal(s.name, "last");
    kymo_kallsyms_destroy(t);
}

/* Where this kernel tells, it tells the probe, too. */
static void probe_and_table_agree(void **state)
{
    kymo_kallsyms *t = NULL;
    (void)state;
    kymo_err err = kymo_kallsyms_read(&t);
    assert_int_equal(err == KYMO_OK, kymo_kallsyms_is_readable());
    kymo_kallsyms_destroy(t);
}

/* ---- as a file ---- */

static kymo_bytes packed(void)
{
    kymo_bytes bytes;
    kymo_bytes_init(&bytes, 1u << 20);
    assert_int_equal(kymo_kallsyms_pack(table, KEY, &bytes), KYMO_OK);
    return bytes;
}

/* What was unpacked says the same, or that it does not know. */
static void a_packed_table_is_the_same(void **state)
{
    (void)state;
    kymo_bytes bytes = packed();
    kymo_kallsyms *again = NULL;
    struct kymo_kallsym a, b;
    unsigned found = 0;
    assert_int_equal(kymo_kallsyms_unpack(&bytes, KEY + 1, &again), KYMO_E_NOT_FOUND);
    assert_int_equal(kymo_kallsyms_unpack(&bytes, KEY, &again), KYMO_OK);
    assert_null(bytes.data);
    for (uint64_t at = BASE - 0x1000; at < BASE + 0x1000; at += 0x10) {
        enum kymo_kallsym_answer wanted = kymo_kallsyms_find(table, at, &a);
        enum kymo_kallsym_answer answer = kymo_kallsyms_find(again, at, &b);
        if (answer == KYMO_KALLSYM_UNCERTAIN)
            continue;
        assert_int_equal(answer, wanted);
        if (answer != KYMO_KALLSYM_FOUND)
            continue;
        found++;
        assert_string_equal(a.name, b.name);
        assert_string_equal(a.module, b.module);
        assert_int_equal(a.address, b.address);
        assert_int_equal(a.offset, b.offset);
    }
    assert_true(found >= 0x300 / 0x10);
    /* Between two functions of a module there is nothing else; behind its last one there may be. */
    assert_int_equal(kymo_kallsyms_find(again, 0xffffffffc0300010, &b), KYMO_KALLSYM_FOUND);
    assert_string_equal(b.name, "ext4_read");
    assert_int_equal(kymo_kallsyms_find(again, 0xffffffffc0300050, &b), KYMO_KALLSYM_UNCERTAIN);
    /* A BPF program may be another one by now. */
    assert_int_equal(kymo_kallsyms_find(again, 0xffffffffc0310001, &b), KYMO_KALLSYM_UNCERTAIN);
    kymo_kallsyms_destroy(again);
    kymo_bytes_deinit(&bytes);
}

static void damaged_bytes_are_refused(void **state)
{
    (void)state;
    kymo_bytes bytes = packed();
    kymo_kallsyms *again = NULL;
    size_t len = bytes.len;
    for (bytes.len = 0; bytes.len < len; bytes.len++)
        assert_int_not_equal(kymo_kallsyms_unpack(&bytes, KEY, &again), KYMO_OK);
    for (size_t i = 0; i < len; i++) {
        bytes.data[i] ^= 0x41;
        assert_int_not_equal(kymo_kallsyms_unpack(&bytes, KEY, &again), KYMO_OK);
        bytes.data[i] ^= 0x41;
    }
    kymo_bytes_deinit(&bytes);
}

static void keys_tell_kernels_apart(void **state)
{
    (void)state;
    static const char modules[] = "ext4 999424 1 - Live 0xffffffffc0300000\n"
                                  "odd 4096 0 - Live 0xffffffffc0500000 (OE)\n";
    uint64_t key = kymo_kallsyms_key("boot 1\n", modules);
    assert_int_not_equal(key, 0);
    assert_int_equal(kymo_kallsyms_key("", modules), 0);
    assert_int_not_equal(key, kymo_kallsyms_key("boot 2\n", modules));
    assert_int_not_equal(key, kymo_kallsyms_key("boot 1\n", ""));
    /* How often a module is used changes all the time. */
    assert_int_equal(key,
                     kymo_kallsyms_key("boot 1\n", "ext4 999424 7 - Live 0xffffffffc0300000\n"
                                                   "odd 4096 0 - Live 0xffffffffc0500000 (OE)\n"));
    assert_int_not_equal(key, kymo_kallsyms_key("boot 1\n",
                                                "ext4 999424 1 - Live 0xffffffffc0400000\n"
                                                "odd 4096 0 - Live 0xffffffffc0500000 (OE)\n"));
    static const char *const any[] = {"\n\n", " ", "  \n", "a", "a b", "a\nb 0x", "0x", " 0x"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(any); i++)
        assert_int_not_equal(kymo_kallsyms_key("boot 1\n", any[i]), 0);
}

/* A file that others can write to is not believed, nor one that is a link. */
static void the_file_is_ours_alone(void **state)
{
    (void)state;
    char path[] = "/tmp/kymo-test-XXXXXX";
    kymo_kallsyms *again = NULL;
    struct stat st;
    assert_non_null(mkdtemp(path));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(kymo_kallsyms_cache_load(folder, KEY, &again), KYMO_E_NOT_FOUND);
    assert_int_equal(kymo_kallsyms_cache_save(folder, KEY, table), KYMO_OK);
    assert_int_equal(fstatat(folder, "kallsyms", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(kymo_kallsyms_cache_load(folder, KEY + 1, &again), KYMO_E_NOT_FOUND);
    assert_int_equal(kymo_kallsyms_cache_load(folder, KEY, &again), KYMO_OK);
    kymo_kallsyms_destroy(again);
    assert_int_equal(kymo_kallsyms_cache_save(folder, KEY + 1, table), KYMO_OK);
    assert_int_equal(kymo_kallsyms_cache_load(folder, KEY, &again), KYMO_E_NOT_FOUND);
    assert_int_equal(fchmodat(folder, "kallsyms", 0622, 0), 0);
    assert_int_equal(kymo_kallsyms_cache_load(folder, KEY + 1, &again), KYMO_E_NOT_FOUND);
    assert_int_equal(fchmodat(folder, "kallsyms", 0600, 0), 0);
    assert_int_equal(renameat(folder, "kallsyms", folder, "other"), 0);
    assert_int_equal(symlinkat("other", folder, "kallsyms"), 0);
    assert_int_equal(kymo_kallsyms_cache_load(folder, KEY + 1, &again), KYMO_E_NOT_FOUND);
    unlinkat(folder, "kallsyms", 0);
    unlinkat(folder, "other", 0);
    close(folder);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_packed_table_is_the_same, begin, end),
        cmocka_unit_test_setup_teardown(damaged_bytes_are_refused, begin, end),
        cmocka_unit_test(keys_tell_kernels_apart),
        cmocka_unit_test_setup_teardown(the_file_is_ours_alone, begin, end),
        cmocka_unit_test_setup_teardown(addresses_have_names, begin, end),
        cmocka_unit_test(the_room_before_a_function_is_its_own),
        cmocka_unit_test_setup_teardown(what_has_no_name_gets_none, begin, end),
        cmocka_unit_test(hidden_addresses_are_no_names),
        cmocka_unit_test(broken_lines_are_left_out),
        cmocka_unit_test(probe_and_table_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
