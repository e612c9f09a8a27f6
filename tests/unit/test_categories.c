/* SPDX-License-Identifier: Apache-2.0 */
#include "control/categories.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct kymo_categories list;
static kymo_str text;

static int begin(void **state)
{
    (void)state;
    memset(&list, 0, sizeof list);
    memset(&text, 0, sizeof text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kymo_categories_deinit(&list);
    kymo_str_deinit(&text);
    return 0;
}

static void add(const char *parent, const char *name, int is_on, int is_quiet)
{
    assert_int_equal(kymo_categories_add(&list, parent, name, is_on, is_quiet), KYMO_OK);
}

static void processes_are_counted(void **state)
{
    (void)state;
    kymo_categories_begin(&list);
    add(NULL, "Net", 1, 0);
    add(NULL, "Disk", 1, 0);
    add("Disk", "read\n", 0, 1);
    add(NULL, "Disk", 1, 0); /* declared twice, in other colours */
    kymo_categories_begin(&list);
    add(NULL, "Disk", 0, 0);
    kymo_categories_merge(&list);
    kymo_categories_begin(&list);
    add(NULL, "Disk", 1, 0);
    kymo_categories_merge(&list);
    kymo_categories_write(&list, &text);
    assert_string_equal(kymo_str_cstr(&text), "2 3 0 Disk\n0 1 1 Disk/read?\n1 1 0 Net\n");
}

static void what_was_written_is_read(void **state)
{
    struct kymo_categories read = {0};
    char bytes[] = "1 2 0 Disk\n\nnonsense\n1 2 3\n0 1 1 A b\x1b\n";
    (void)state;
    assert_int_equal(kymo_categories_read(&read, bytes), KYMO_OK);
    kymo_categories_write(&read, &text);
    assert_string_equal(kymo_str_cstr(&text), "1 2 0 Disk\n0 1 1 A b?\n");
    kymo_categories_deinit(&read);
}

static void names_that_are_not_there_are_found(void **state)
{
    (void)state;
    kymo_categories_begin(&list);
    add(NULL, "Disk", 1, 0);
    add("Disk", "Read", 1, 0);
    static const char *const known[] = {"", "all", "none", "-ALL:disk", "disk/read:-Disk"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(known); i++)
        assert_int_equal(kymo_categories_unknown(&list, known[i], &text), 0);
    assert_int_equal(text.len, 0);
    assert_int_equal(kymo_categories_unknown(&list, "disk:-read:x", &text), 1);
    assert_string_equal(kymo_str_cstr(&text), "'read'");
}

static void a_message_names_some(void **state)
{
    (void)state;
    kymo_categories_begin(&list);
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "category %02d", i);
        add(NULL, name, 1, 0);
    }
    kymo_categories_names(&list, &text);
    assert_non_null(strstr(kymo_str_cstr(&text), "category 00, category 01, "));
    assert_non_null(strstr(kymo_str_cstr(&text), " more"));
    assert_true(text.len < 400);
}

/* Programs without end, each with names of its own. */
static void there_is_an_end_of_them(void **state)
{
    (void)state;
    for (int process = 0; process < 100; process++) {
        kymo_categories_begin(&list);
        for (int i = 0; i < 1000; i++) {
            char name[32];
            snprintf(name, sizeof name, "%d/%d", process, i);
            add(NULL, name, 1, 0);
        }
    }
    kymo_categories_merge(&list);
    assert_true(list.rows.len >= KYMO_CATEGORIES_MAX && list.rows.len < 3 * KYMO_CATEGORIES_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(processes_are_counted),
        TEST(what_was_written_is_read),
        TEST(names_that_are_not_there_are_found),
        TEST(a_message_names_some),
        TEST(there_is_an_end_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
