/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"
#include "unwind/python_walk.h"

enum { ENTRIES = 96 };

/* Which entries are used: frame, thread_id, back, code, at, owner, file, name, lines, first_line,
 * instructions, text. */
static const uint8_t used_of[][12] = {
    [13] = {23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70},
    [14] = {26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80},
};

/* As _PyRuntime of 3.13.0 and 3.14.10 begins: each value differs from the version's usual one. */
static void make_table(uint32_t minor, uint64_t *table)
{
    memset(table, 0, ENTRIES * sizeof *table);
    memcpy(table, "xdebugpy", 8);
    table[1] = 0x030000f0 | minor << 16;
    for (size_t i = 0; i < sizeof used_of[minor]; i++)
        table[used_of[minor][i]] = 1000 + 8ull * used_of[minor][i];
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
    make_table(14, table);
    static const uint32_t others[] = {0, 1, 2, 7, 8, 15, 99, 255, UINT32_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++)
        assert_false(kymo_python_offsets_of(others[i], table, &o));
}

static void the_interpreters_own_table_is_used_from_3_13_on(void **state)
{
    (void)state;
    uint64_t table[ENTRIES];
    struct kymo_python_offsets o;
    for (uint32_t minor = 13; minor <= 14; minor++) {
        make_table(minor, table);
        assert_true(kymo_python_offsets_of(minor, table, &o));
        const uint16_t got[] = {o.frame, o.thread_id,  o.back,         o.code,
                                o.at,    o.owner,      o.file,         o.name,
                                o.lines, o.first_line, o.instructions, o.text};
        for (size_t i = 0; i < KYMO_ARRAY_LEN(got); i++)
            assert_int_equal(got[i], 1000 + 8 * used_of[minor][i]);
        assert_int_equal(o.key, minor == 13 ? 2160 : 2336); /* not in the table */
    }
}

static void a_table_that_is_not_understood_is_refused(void **state)
{
    (void)state;
    uint64_t table[ENTRIES];
    struct kymo_python_offsets o;
    for (uint32_t minor = 13; minor <= 14; minor++) {
        make_table(minor, table);
        assert_false(kymo_python_is_free_threaded(minor, table));
        table[2] = 1; /* free-threaded: its objects begin differently */
        assert_false(kymo_python_offsets_of(minor, table, &o));
        assert_true(kymo_python_is_free_threaded(minor, table));
        assert_true(kymo_python_is_free_threaded(minor + 2, table));
        assert_false(kymo_python_is_free_threaded(12, table)); /* it has no such table */
        make_table(minor, table);
        ((char *)table)[0] = 'y';
        assert_false(kymo_python_offsets_of(minor, table, &o));
        for (size_t i = 0; i < sizeof used_of[minor]; i++) {
            make_table(minor, table);
            table[used_of[minor][i]] = 1ull << 32 | 8; /* not that far */
            assert_false(kymo_python_offsets_of(minor, table, &o));
        }
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
