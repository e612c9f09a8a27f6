/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mark.h"

#include <string.h>

#include "unit.h"

#define MAX 512

static const struct kymo_mark_category net = {.size = sizeof net, .name = "Net"};
static const struct kymo_mark_category disk = {.size = sizeof disk, .name = "disk"};
static const struct kymo_mark_category reading = {
    .size = sizeof reading, .name = "read", .parent = &disk};
static const struct kymo_mark_category quiet = {
    .size = sizeof quiet, .name = "trace", .flags = KYMO_CATEGORY_IS_QUIET};
static const struct kymo_mark_category quiet_part = {
    .size = sizeof quiet_part, .name = "all of it", .parent = &quiet};
static const struct kymo_mark_category disk_quiet = {
    .size = sizeof disk_quiet, .name = "sync", .parent = &disk, .flags = KYMO_CATEGORY_IS_QUIET};
static const struct kymo_mark_category slash = {.size = sizeof slash, .name = "I/O"};

/* Which of net, disk, disk/read, trace, trace/all of it, disk/sync are on, as letters. */
static const char *wanted(const char *list)
{
    static const struct kymo_mark_category *const all[] = {&net,   &disk,       &reading,
                                                           &quiet, &quiet_part, &disk_quiet};
    static char out[sizeof all / sizeof *all + 1];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        out[i] = kymo_select_wants(list, MAX, all[i]) ? "ndrtas"[i] : '.';
    return out;
}

static void the_last_word_that_means_it_counts(void **state)
{
    (void)state;
    assert_string_equal(wanted("all"), "ndr...");
    assert_string_equal(wanted(""), "ndr...");
    assert_string_equal(wanted("none"), "......");
    assert_string_equal(wanted("-all"), "......");
    assert_string_equal(wanted("net"), "n.....");
    assert_string_equal(wanted("all:-net"), ".dr...");
    assert_string_equal(wanted("-net"), ".dr...");
    assert_string_equal(wanted("-net:net"), "ndr...");
    assert_string_equal(wanted("all:-net:none:net"), "n.....");
    assert_string_equal(wanted("nothing:of:that"), "......");
}

static void a_part_follows_its_whole_unless_it_is_named(void **state)
{
    (void)state;
    assert_string_equal(wanted("disk"), ".dr...");
    assert_string_equal(wanted("disk/read"), "..r...");
    assert_string_equal(wanted("all:-disk:disk/read"), "n.r...");
    assert_string_equal(wanted("-disk/read"), "nd....");
    assert_string_equal(wanted("disk/read:-disk"), "......");
    /* A part's name alone is none. */
    assert_string_equal(wanted("read"), "......");
    assert_string_equal(wanted("net/read"), "......");
}

static void a_quiet_one_waits_for_its_name(void **state)
{
    (void)state;
    assert_string_equal(wanted("trace"), "...ta.");
    assert_string_equal(wanted("trace/all of it"), "....a.");
    assert_string_equal(wanted("disk/sync"), ".....s");
    assert_string_equal(wanted("trace:all"), "ndrta.");
    assert_string_equal(wanted("trace:none"), "......");
    assert_string_equal(wanted("disk/sync:disk"), ".dr..s");
    assert_string_equal(wanted("disk/sync:-disk"), "......");
}

static void case_and_what_a_name_has_do_not_matter(void **state)
{
    (void)state;
    assert_string_equal(wanted("NET:Disk/READ"), "n.r...");
    assert_string_equal(wanted("ALL:-nEt"), ".dr...");
    assert_true(kymo_select_wants("i/o", MAX, &slash));
    assert_true(kymo_select_wants("all", MAX, &slash));
    assert_false(kymo_select_wants("i", MAX, &slash));
    assert_false(kymo_select_wants("o", MAX, &slash));
}

static void what_is_no_list_harms_nobody(void **state)
{
    static const char *const bad[] = {":", "net:",  ":net",  "net::disk",
                                      "-", "net:-", "--net", "-none"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        (void)wanted(bad[i]);
}

/* The recorder's list lies in memory that anybody may write to. */
static void a_list_without_an_end_is_read_no_further(void **state)
{
    char list[] = {'n', 'o', 'n', 'e', ':', 'n', 'e', 't', 's'};
    (void)state;
    assert_true(kymo_select_wants(list, 8, &net));
    assert_false(kymo_select_wants(list, 7, &net));
    assert_false(kymo_select_wants(list, 9, &net));
    assert_false(kymo_select_wants(list, 5, &net));
    assert_true(kymo_select_wants(list, 0, &net)); /* as "" */
}

static void a_circle_of_parts_ends(void **state)
{
    struct kymo_mark_category a = {.size = sizeof a, .name = "a"};
    struct kymo_mark_category b = {.size = sizeof b, .name = "b", .parent = &a};
    struct kymo_mark_category nameless = {.size = sizeof nameless};
    (void)state;
    a.parent = &b;
    assert_true(kymo_select_wants("all", MAX, &a));
    assert_false(kymo_select_wants("a/b/a/b/a/b/a/b/a/b", MAX, &b));
    assert_true(kymo_select_wants("all", MAX, &nameless));
    assert_false(kymo_select_wants("net", MAX, &nameless));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_word_that_means_it_counts),
        cmocka_unit_test(a_part_follows_its_whole_unless_it_is_named),
        cmocka_unit_test(a_quiet_one_waits_for_its_name),
        cmocka_unit_test(case_and_what_a_name_has_do_not_matter),
        cmocka_unit_test(what_is_no_list_harms_nobody),
        cmocka_unit_test(a_list_without_an_end_is_read_no_further),
        cmocka_unit_test(a_circle_of_parts_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
