/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

#include <stdlib.h>

static void everything_is_copied(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    char arg0[] = "/usr/bin/prog";
    char arg1[] = "--fast\xff";
    const char *argv[] = {arg0, arg1};
    uint32_t id;
    ok(kymo_profile_add_process(p,
                                &(kymo_process){.size = sizeof(kymo_process),
                                                .pid = 12,
                                                .argc = 2,
                                                .argv = argv,
                                                .exit_status = -1,
                                                .is_main = 7},
                                &id));
    memset(arg0, 'x', 4);
    argv[1] = NULL;
    const kymo_process *row = kymo_profile_process(p, id);
    assert_string_equal(row->name, "prog");
    assert_int_equal(row->argc, 2);
    assert_string_equal(row->argv[0], "/usr/bin/prog");
    assert_string_equal(row->argv[1], "--fast\xef\xbf\xbd");
    assert_null(row->argv[2]);
    assert_int_equal(row->is_main, 1);
    assert_null(kymo_profile_process(p, 1));
    kymo_profile_destroy(p);
}

static void names_have_fallbacks(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    assert_string_equal(kymo_profile_process(p, add_process(p, 31, 0))->name, "pid 31");
    kymo_profile_destroy(p);
}

static void update_keeps_identity(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id = add_process(p, 31, 500);
    kymo_process row = *kymo_profile_process(p, id);
    row.name = "renamed";
    row.end_ns = 400; /* before its start: a clock that jumped, or a lie */
    row.cpu_ns = 9;
    ok(kymo_profile_update_process(p, id, &row));
    assert_string_equal(kymo_profile_process(p, id)->name, "renamed");
    assert_int_equal(kymo_profile_process(p, id)->end_ns, 500);
    assert_int_equal(kymo_profile_process(p, id)->cpu_ns, 9);
    row.pid = 32;
    assert_int_equal(kymo_profile_update_process(p, id, &row), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_update_process(p, 1, &row), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t id = 9;
    kymo_process row = {.size = sizeof row, .pid = 1, .is_main = 1};
    ok(kymo_profile_add_process(p, &row, &id));
    assert_int_equal(kymo_profile_add_process(p, &row, &id), KYMO_E_INVALID); /* two main ones */
    row.is_main = 0;
    row.size = 8;
    assert_int_equal(kymo_profile_add_process(p, &row, &id), KYMO_E_INVALID);
    row.size = sizeof row;
    row.argc = 1;
    assert_int_equal(kymo_profile_add_process(p, &row, &id), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_PROCESSES), 1);
    kymo_profile_destroy(p);
}

static void too_many_arguments_are_counted(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    enum { ARGS = KYMO_ARGS_MAX + 10 };
    const char **argv = malloc(ARGS * sizeof *argv);
    for (size_t i = 0; i < ARGS; i++)
        argv[i] = "a";
    uint32_t id;
    ok(kymo_profile_add_process(
        p, &(kymo_process){.size = sizeof(kymo_process), .pid = 1, .argc = ARGS, .argv = argv},
        &id));
    free(argv);
    const kymo_process *row = kymo_profile_process(p, id);
    assert_int_equal(row->argc, KYMO_ARGS_MAX);
    assert_string_equal(row->argv[KYMO_ARGS_MAX - 1], "... (11 more arguments)");
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_copied),           cmocka_unit_test(names_have_fallbacks),
        cmocka_unit_test(update_keeps_identity),          cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(too_many_arguments_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
