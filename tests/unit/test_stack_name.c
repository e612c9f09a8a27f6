/* SPDX-License-Identifier: Apache-2.0 */
#include "views/stack_name.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static kymo_report_row rows[3];
static struct kymo_stack_path path;
static kymo_arena arena;

static int set_up(void **state)
{
    (void)state;
    path = (struct kymo_stack_path){.rows = rows};
    kymo_arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kymo_stack_path_deinit(&path);
    kymo_arena_deinit(&arena);
    return 0;
}

static const char *enter(uint32_t row, uint32_t depth)
{
    kymo_report_node node = {.row = row, .depth = depth};
    assert_int_equal(kymo_stack_path_enter(&path, &node), KYMO_OK);
    return kymo_stack_path_name(&path, &arena);
}

static void a_node_is_named_by_its_callers(void **state)
{
    (void)state;
    rows[0].name = "main";
    rows[1].name = "f";
    rows[2].name = "";
    assert_string_equal(enter(0, 0), "main");
    assert_string_equal(enter(1, 1), "main;f");
    assert_string_equal(enter(1, 2), "main;f;f");
    assert_string_equal(enter(2, 1), "main;");
    assert_string_equal(enter(1, 0), "f");
}

static void of_a_long_one_the_innermost_is_kept(void **state)
{
    (void)state;
    enum { LONG = KYMO_STACK_NAME_MAX / 2 };
    static char text[KYMO_STACK_NAME_MAX + 2];
    memset(text, 'x', LONG);
    rows[0].name = text;
    rows[1].name = "leaf";
    (void)enter(0, 0);
    (void)enter(0, 1);
    const char *name = enter(1, 2);
    assert_int_equal(strlen(name), 4 + LONG + 5);
    assert_memory_equal(name, "...;x", 5);
    assert_string_equal(name + 4 + LONG, ";leaf");
    /* One name alone is never cut: the profile's strings have their own limit. */
    memset(text, 'x', KYMO_STACK_NAME_MAX + 1);
    assert_string_equal(enter(0, 0), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_is_named_by_its_callers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_a_long_one_the_innermost_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
