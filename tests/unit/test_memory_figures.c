/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/figures.h"

#include <string.h>

#include "unit.h"

static const struct kymo_figure_row *row_of(unsigned i)
{
    return &kymo_figure_rows[i];
}

static void a_groups_rows_stand_together(void **state)
{
    (void)state;
    for (unsigned i = 1; i < KYMO_FIGURE_COUNT; i++)
        assert_true(row_of(i)->group >= row_of(i - 1)->group);
    assert_int_equal(row_of(0)->group, 0);
    assert_int_equal(row_of(KYMO_FIGURE_COUNT - 1)->group, KYMO_GROUP_COUNT - 1);
}

static void a_name_is_one_figures(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++)
        for (unsigned j = 0; j < i; j++)
            if (row_of(i)->group == row_of(j)->group)
                assert_string_not_equal(row_of(i)->name, row_of(j)->name);
}

/* Prometheus takes a metric in one piece, of one type; no two rows of it have the same labels. */
static void a_metrics_rows_stand_together(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++) {
        int is_first = i == 0 || strcmp(row_of(i)->metric, row_of(i - 1)->metric) != 0;
        for (unsigned j = 0; j < i; j++) {
            int is_same = strcmp(row_of(i)->metric, row_of(j)->metric) == 0;
            assert_false(is_first && is_same);
            if (!is_same)
                continue;
            assert_string_not_equal(row_of(i)->labels, row_of(j)->labels);
            assert_int_equal(row_of(i)->unit, row_of(j)->unit);
            assert_int_equal(row_of(i)->is_counter, row_of(j)->is_counter);
        }
        assert_true(!is_first || row_of(i)->help[0] != '\0');
    }
}

static int ends(const char *text, const char *with)
{
    size_t len = strlen(text), n = strlen(with);
    return len >= n && strcmp(text + len - n, with) == 0;
}

static void a_metric_says_its_unit(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++) {
        const struct kymo_figure_row *r = row_of(i);
        assert_int_equal(r->is_counter, ends(r->metric, "_total"));
        if (r->unit == KYMO_FIGURE_BYTES) {
            assert_true(ends(r->metric, "_bytes") || ends(r->metric, "_bytes_total"));
            assert_true(ends(r->name, "_bytes"));
        }
        if (r->unit == KYMO_FIGURE_NS || r->unit == KYMO_FIGURE_US)
            assert_true(ends(r->metric, "_seconds") || ends(r->metric, "_seconds_total"));
        if (r->unit == KYMO_FIGURE_PERCENT)
            assert_true(ends(r->metric, "_ratio") && ends(r->name, "_percent"));
    }
}

static void a_figure_is_found_wherever_the_search_begins(void **state)
{
    (void)state;
    for (unsigned begin = 0; begin <= KYMO_FIGURE_COUNT; begin++) {
        unsigned after = begin;
        assert_int_equal(kymo_figure_find(KYMO_GROUP_MAPS, 0, "Pss_Anon", 8, &after),
                         KYMO_FIGURE_MAPS_PSS_ANON);
        assert_int_equal(after, KYMO_FIGURE_MAPS_PSS_ANON + 1);
        assert_int_equal(kymo_figure_find(KYMO_GROUP_MAPS, 0, "Pss_", 4, &after),
                         KYMO_FIGURE_COUNT);
    }
}

static void the_first_version_has_names_of_its_own(void **state)
{
    (void)state;
    unsigned after = 0;
    assert_int_equal(kymo_figure_find(KYMO_GROUP_CGROUP_STAT, 1, "total_rss", 9, &after),
                     KYMO_FIGURE_CGROUP_ANON);
    assert_int_equal(kymo_figure_find(KYMO_GROUP_CGROUP_STAT, 0, "total_rss", 9, &after),
                     KYMO_FIGURE_COUNT);
    /* Where it has none, "" is no name. */
    assert_int_equal(kymo_figure_find(KYMO_GROUP_CGROUP_STAT, 1, "", 0, &after), KYMO_FIGURE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_groups_rows_stand_together),
        cmocka_unit_test(a_name_is_one_figures),
        cmocka_unit_test(a_metrics_rows_stand_together),
        cmocka_unit_test(a_metric_says_its_unit),
        cmocka_unit_test(a_figure_is_found_wherever_the_search_begins),
        cmocka_unit_test(the_first_version_has_names_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
