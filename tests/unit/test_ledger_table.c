/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void add(kymo_profile *p, uint32_t process, uint32_t line, const char *name, int64_t bytes)
{
    kymo_ledger l = {.size = sizeof l,
                     .stack = KYMO_NONE,
                     .process = process,
                     .line = line,
                     .name = add_string(p, name),
                     .bytes = bytes};
    ok(kymo_profile_add_ledger(p, &l));
}

static void assert_line(const kymo_profile *p, size_t i, uint32_t process, uint32_t line,
                        const char *name, int64_t bytes)
{
    size_t count;
    const kymo_ledger *l = kymo_profile_ledger(p, &count);
    assert_true(i < count);
    assert_int_equal(l[i].process, process);
    assert_int_equal(l[i].line, line);
    assert_string_equal(kymo_profile_string(p, l[i].name), name);
    assert_int_equal(l[i].bytes, bytes);
}

static void lines_are_by_process_and_line(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    size_t count;
    add_process(p, 10, 0);
    add_process(p, 11, 0);
    assert_null(kymo_profile_ledger(p, &count));
    add(p, 1, 2, "", 5);
    add(p, 0, 4, "small", 10);
    add(p, 0, 4, "large", 90);
    add(p, 0, 4, "", 100);
    add(p, 0, 1, "", 7);
    add(p, 0, 4, "small", 95); /* replaces, and is the largest now */
    ok(kymo_profile_finish(p));
    assert_line(p, 0, 0, 1, "", 7);
    assert_line(p, 1, 0, 4, "", 100);
    assert_line(p, 2, 0, 4, "small", 95);
    assert_line(p, 3, 0, 4, "large", 90);
    assert_line(p, 4, 1, 2, "", 5);
    add(p, 0, 4, "small", -1); /* found by its new place */
    ok(kymo_profile_finish(p));
    assert_line(p, 2, 0, 4, "large", 90);
    assert_line(p, 3, 0, 4, "small", -1);
    kymo_profile_ledger(p, &count);
    assert_int_equal(count, 5);
    kymo_profile_destroy(p);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    kymo_ledger wrong[4];
    for (size_t i = 0; i < 4; i++)
        wrong[i] = (kymo_ledger){.size = sizeof wrong[0], .line = 1, .stack = KYMO_NONE};
    wrong[0].size = 4;
    wrong[1].process = 1;
    wrong[2].name = 99;
    wrong[3].low = 1;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kymo_profile_add_ledger(p, &wrong[i]), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_by_process_and_line),
        cmocka_unit_test(unknown_ids_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
