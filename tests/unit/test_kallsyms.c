/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "recorder/kallsyms.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(addresses_have_names, begin, end),
        cmocka_unit_test_setup_teardown(what_has_no_name_gets_none, begin, end),
        cmocka_unit_test(hidden_addresses_are_no_names),
        cmocka_unit_test(broken_lines_are_left_out),
        cmocka_unit_test(probe_and_table_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
