/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "python_line_vectors.h"
#include "recorder/python_events.h"
#include "unit.h"

/* Exactly as large as the table, so that a sanitizer sees the first byte read beyond it. */
static uint8_t *copy_of(const void *table, uint32_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, table, len);
    return copy;
}

/* Each place of each function, by each version's compiler. */
static void lines_are_what_cpython_says(void **state)
{
    (void)state;
    uint32_t versions = 0;
    for (size_t v = 0; v < KYMO_ARRAY_LEN(line_vectors); v++) {
        const struct line_vector *of = &line_vectors[v];
        uint8_t *table = copy_of(of->table, of->len);
        uint32_t at = 0;
        for (uint32_t r = 0; r < of->runs; r++)
            for (; at < of->run[r].end; at++) {
                uint32_t line = kymo_python_line(of->minor, table, of->len, of->first_line, at);
                if (line != of->run[r].line)
                    fail_msg("3.%u %s: at %u line %u, not %u", of->minor, of->name, at, line,
                             of->run[r].line);
            }
        versions |= 1u << of->minor;
        free(table);
    }
    assert_int_equal(versions, 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 14);
}

static void a_frame_that_has_not_begun_is_at_the_first_line(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        const uint8_t table[] = {2, 1, 2, 1};
        assert_int_equal(kymo_python_line(minor, table, sizeof table, 7, (uint32_t)-1), 7);
        assert_int_equal(kymo_python_line(minor, table, sizeof table, 7, (uint32_t)-2), 7);
    }
}

static void without_a_table_there_is_no_line(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        assert_int_equal(kymo_python_line(minor, NULL, 0, 7, 0), 0);
        assert_int_equal(kymo_python_line(minor, NULL, 0, 7, (uint32_t)-2), 0);
    }
}

/* All code of a function on one line, in 3.9: there is nothing to say. */
static void an_empty_table_of_3_9_is_one_line(void **state)
{
    (void)state;
    const uint8_t none = 0;
    assert_int_equal(kymo_python_line(9, &none, 0, 7, 0), 7);
    assert_int_equal(kymo_python_line(9, &none, 0, 7, 400), 7);
    assert_int_equal(kymo_python_line(10, &none, 0, 7, 0), 0);
    assert_int_equal(kymo_python_line(11, &none, 0, 7, 0), 0);
}

/* Behind the last entry. */
static void a_place_outside_of_the_table_has_no_line(void **state)
{
    (void)state;
    const uint8_t ranges[] = {4, 0};
    assert_int_equal(kymo_python_line(10, ranges, sizeof ranges, 7, 3), 7);
    assert_int_equal(kymo_python_line(10, ranges, sizeof ranges, 7, 4), 0);
    const uint8_t entries[] = {0x80 | 13 << 3 | 1, 0}; /* two units, the same line */
    assert_int_equal(kymo_python_line(11, entries, sizeof entries, 7, 3), 7);
    assert_int_equal(kymo_python_line(11, entries, sizeof entries, 7, 4), 0);
}

/* Only numbers that can be lines are given out. */
static void lines_that_cannot_be_are_none(void **state)
{
    (void)state;
    const uint8_t back[] = {0, 0x81, 0, 0x81, 4, 0}; /* 127 lines back, twice */
    assert_int_equal(kymo_python_line(9, back, sizeof back, 7, 2), 0);
    const uint8_t ranges[] = {2, 0x81};
    assert_int_equal(kymo_python_line(10, ranges, sizeof ranges, 7, 0), 0);
    /* An entry with a varint that goes on and on. */
    const uint8_t varint[] = {0x80 | 13 << 3, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f};
    assert_int_equal(kymo_python_line(11, varint, sizeof varint, INT32_MAX, 0), 0);
    assert_int_equal(kymo_python_line(9, back, 0, (uint32_t)INT32_MAX + 1, 0), 0);
    assert_int_equal(kymo_python_line(9, back, 0, 0, 0), 0);
}

/* Any bytes are read to their end and no further. */
static void hostile_tables_are_read_within_their_bounds(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[40];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (uint8_t)(random >> 56);
        }
        uint32_t len = bytes[0] % sizeof bytes;
        uint8_t *table = copy_of(bytes, len);
        for (uint32_t minor = 9; minor <= 14; minor++) {
            uint32_t line = kymo_python_line(minor, table, len, bytes[39], bytes[38] * 2u);
            assert_true(line <= INT32_MAX);
        }
        free(table);
    }
    /* Each entry is long, and its bytes are missing. */
    for (uint32_t kind = 0; kind < 16; kind++) {
        const uint8_t head = (uint8_t)(0x80 | kind << 3);
        uint8_t *table = copy_of(&head, 1);
        (void)kymo_python_line(12, table, 1, 1, 0);
        (void)kymo_python_line(9, table, 1, 1, 0);
        (void)kymo_python_line(10, table, 1, 1, 0);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_cpython_says),
        cmocka_unit_test(a_frame_that_has_not_begun_is_at_the_first_line),
        cmocka_unit_test(without_a_table_there_is_no_line),
        cmocka_unit_test(an_empty_table_of_3_9_is_one_line),
        cmocka_unit_test(a_place_outside_of_the_table_has_no_line),
        cmocka_unit_test(lines_that_cannot_be_are_none),
        cmocka_unit_test(hostile_tables_are_read_within_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
