/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"
#include "unwind/python_walk.h"

enum { ENTRIES = 96 };

/* As _PyRuntime of 3.13.0 begins: each value differs from the version's usual one. */
static void make_table(uint64_t *table)
{
    memset(table, 0, ENTRIES * sizeof *table);
    memcpy(table, "xdebugpy", 8);
    table[1] = 0x030d00f0;
    static const uint8_t used[] = {23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70};
    for (size_t i = 0; i < sizeof used; i++)
        table[used[i]] = 1000 + 8ull * used[i];
}

static void each_known_version_has_offsets(void **state)
{
    (void)state;
    struct kymo_python_offsets o;
    for (uint32_t minor = 9; minor <= 12; minor++) {
        assert_true(kymo_python_offsets_of(minor, NULL, &o));
        assert_true(o.key && o.thread_id && o.frame && o.at && o.file && o.name && o.lines &&
                    o.text);
        assert_int_equal(o.key % 4, 0);
        assert_int_equal(o.frame % 8 + o.thread_id % 8 + o.at % 8 + o.back % 8 + o.code % 8, 0);
        assert_int_equal(o.file % 8 + o.name % 8 + o.lines % 8 + o.first_line % 4, 0);
    }
}

static void a_version_that_is_not_known_has_none(void **state)
{
    (void)state;
    uint64_t table[ENTRIES];
    struct kymo_python_offsets o;
    make_table(table);
    static const uint32_t others[] = {0, 1, 2, 7, 8, 14, 15, 99, 255, UINT32_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++)
        assert_false(kymo_python_offsets_of(others[i], table, &o));
}

static void the_interpreters_own_table_is_used_from_3_13_on(void **state)
{
    (void)state;
    uint64_t table[ENTRIES];
    struct kymo_python_offsets o;
    make_table(table);
    assert_true(kymo_python_offsets_of(13, table, &o));
    assert_int_equal(o.frame, 1000 + 8 * 23);
    assert_int_equal(o.thread_id, 1000 + 8 * 24);
    assert_int_equal(o.back, 1000 + 8 * 29);
    assert_int_equal(o.code, 1000 + 8 * 30);
    assert_int_equal(o.at, 1000 + 8 * 31);
    assert_int_equal(o.owner, 1000 + 8 * 33);
    assert_int_equal(o.file, 1000 + 8 * 35);
    assert_int_equal(o.name, 1000 + 8 * 37);
    assert_int_equal(o.lines, 1000 + 8 * 38);
    assert_int_equal(o.first_line, 1000 + 8 * 39);
    assert_int_equal(o.instructions, 1000 + 8 * 43);
    assert_int_equal(o.text, 1000 + 8 * 70);
    assert_int_equal(o.key, 2160); /* not in the table */
}

static void a_table_that_is_not_understood_is_refused(void **state)
{
    (void)state;
    uint64_t table[ENTRIES];
    struct kymo_python_offsets o;
    make_table(table);
    table[2] = 1; /* free-threaded: its objects begin differently */
    assert_false(kymo_python_offsets_of(13, table, &o));
    make_table(table);
    ((char *)table)[0] = 'y';
    assert_false(kymo_python_offsets_of(13, table, &o));
    static const uint8_t used[] = {23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70};
    for (size_t i = 0; i < sizeof used; i++) {
        make_table(table);
        table[used[i]] = 1ull << 32 | 8; /* not that far */
        assert_false(kymo_python_offsets_of(13, table, &o));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_known_version_has_offsets),
        cmocka_unit_test(a_version_that_is_not_known_has_none),
        cmocka_unit_test(the_interpreters_own_table_is_used_from_3_13_on),
        cmocka_unit_test(a_table_that_is_not_understood_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
