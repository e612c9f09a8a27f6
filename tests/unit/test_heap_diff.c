/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/bytes.h"
#include "heap_fixture.h"
#include "views/report_json.h"
#include "views/report_text.h"

static struct heap_profile a;
static struct heap_profile b;
static kymo_report_diff *diff;
static kymo_heap_report_options at[2];

static int setup(void **state)
{
    (void)state;
    a = new_heap_profile();
    b = new_heap_profile();
    diff = NULL;
    for (int i = 0; i < 2; i++)
        at[i] = (kymo_heap_report_options){
            .size = sizeof at[i], .view = KYMO_HEAP_LIVE, .at_ns = KYMO_HEAP_END};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_report_diff_destroy(diff);
    kymo_profile_destroy(a.p);
    kymo_profile_destroy(b.p);
    return 0;
}

static const kymo_report_diff_row *rows(const kymo_profile *after, size_t expected)
{
    size_t count;
    ok(kymo_profile_finish(a.p));
    ok(kymo_profile_finish(b.p));
    ok(kymo_heap_diff_create(a.p, &at[0], after, &at[1], KYMO_DIFF_AUTO, &diff));
    const kymo_report_diff_row *all = kymo_report_diff_rows(diff, &count);
    assert_int_equal(count, expected);
    return all;
}

static void sampled(const struct heap_profile *h, int in, uint64_t from_ns, uint64_t to_ns,
                    int count)
{
    for (int i = 0; i < count; i++) {
        kymo_allocation block = block_of(h, in, 1000, from_ns, to_ns);
        block.weight = 500;
        add_block(h, &block);
    }
}

static void two_recordings(void **state)
{
    (void)state;
    add_plain(&a, IN_LOAD, 100, 1010, KYMO_LIVES);
    add_plain(&a, IN_PARSE, 500, 1010, KYMO_LIVES);
    add_plain(&b, IN_LOAD, 160, 1010, KYMO_LIVES);
    add_plain(&b, IN_MAIN, 7, 1010, KYMO_LIVES);
    const kymo_report_diff_row *row = rows(b.p, 3);
    assert_string_equal(row[0].name, "parse");
    assert_true(row[0].change == -500 && row[0].objects == -1);
    assert_true(row[0].before == 500 && row[0].after == 0);
    assert_string_equal(row[1].name, "load");
    assert_string_equal(row[1].module, "app");
    assert_true(row[1].change == 60 && row[1].before == 100 && row[1].after == 160);
    assert_true(row[1].low == 60 && row[1].high == 60 && row[1].is_significant);
    assert_string_equal(row[2].name, "main");
    assert_true(row[2].change == 7);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    assert_true(all->before == 600 && all->after == 167 && all->change == -433);
}

static void chance_is_no_growth(void **state)
{
    (void)state;
    /* 100 and 110 draws may well be the same; 100 and 200 are not. */
    sampled(&a, IN_LOAD, 1010, KYMO_LIVES, 100);
    sampled(&b, IN_LOAD, 1010, KYMO_LIVES, 110);
    sampled(&a, IN_PARSE, 1010, KYMO_LIVES, 100);
    sampled(&b, IN_PARSE, 1010, KYMO_LIVES, 200);
    const kymo_report_diff_row *row = rows(b.p, 3);
    assert_string_equal(row[0].name, "parse");
    assert_true(row[0].change == 100 * 500 * 1000.0);
    assert_int_equal(row[0].is_significant, 1);
    assert_string_equal(row[1].name, "load");
    assert_int_equal(row[1].is_significant, 0);
    assert_true(row[1].low < 0 && row[1].high > 0);
}

static void blocks_of_both_moments_are_no_source_of_error(void **state)
{
    (void)state;
    sampled(&a, IN_LOAD, 1010, KYMO_LIVES, 1000);
    sampled(&a, IN_LOAD, 1510, KYMO_LIVES, 10);
    sampled(&a, IN_PARSE, 1010, 1400, 10);
    at[0].at_ns = 1300;
    at[1].at_ns = 1700;
    const kymo_report_diff_row *row = rows(a.p, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(row[i].is_significant, 1);
    assert_string_equal(row[0].name, "load");
    assert_true(row[0].change == 10 * 500 * 1000.0);
    assert_true(row[0].before == 1000 * 500 * 1000.0);
    assert_true(row[0].after == 1010 * 500 * 1000.0);
    assert_true(row[1].change == -10 * 500 * 1000.0);
    assert_true(kymo_report_diff_all(diff)->change == 0);
    assert_int_equal(kymo_report_diff_all(diff)->is_significant, 0);
}

/* "load" frees as many as before, which live longer; one of "parse" is gone; "main" is the same. */
static const kymo_report_diff_row *lifetimes(kymo_diff_normalize how)
{
    size_t count;
    for (int i = 0; i < 6; i++) {
        add_plain(&a, IN_LOAD, 100, 1010, 1020);
        add_plain(&b, IN_LOAD, 100, 1010, i < 5 ? 1110 : 1020);
    }
    add_plain(&a, IN_PARSE, 100, 1010, 1011);
    add_plain(&a, IN_PARSE, 100, 1010, 1020);
    add_plain(&b, IN_PARSE, 9999, 1010, 1020);
    add_plain(&a, IN_MAIN, 100, 1010, 1020);
    add_plain(&b, IN_MAIN, 100, 1010, 1020);
    add_plain(&b, IN_MAIN, 100, 1010, KYMO_LIVES);
    ok(kymo_profile_finish(a.p));
    ok(kymo_profile_finish(b.p));
    at[0].view = at[1].view = KYMO_HEAP_LIFETIMES;
    ok(kymo_heap_diff_create(a.p, &at[0], b.p, &at[1], how, &diff));
    const kymo_report_diff_row *row = kymo_report_diff_rows(diff, &count);
    assert_int_equal(count, 3);
    return row;
}

static void lifetimes_are_compared_by_bucket(void **state)
{
    (void)state;
    const kymo_report_diff_row *row = lifetimes(KYMO_DIFF_AUTO);
    assert_string_equal(row[0].name, "load");
    assert_true(row[0].change == 0 && row[0].before == 6 && row[0].low == 0 && row[0].high == 0);
    assert_true(row[0].lifetimes[0][3] == 6 && row[0].lifetimes[0][6] == 0);
    assert_true(row[0].lifetimes[1][3] == 1 && row[0].lifetimes[1][6] == 5);
    assert_string_equal(row[1].name, "parse");
    assert_true(row[1].change == -1 && row[1].before == 2 && row[1].is_significant);
    assert_true(row[1].lifetimes[0][0] == 1 && row[1].lifetimes[1][0] == 0);
    assert_string_equal(row[2].name, "main");
    assert_true(row[2].change == 0);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    assert_true(all->before == 9 && all->after == 8 && all->change == -1);
    assert_true(all->lifetimes[0][3] == 8 && all->lifetimes[1][3] == 3);
    assert_string_equal(kymo_report_diff_type(diff)->unit, "objects");
}

static void lifetimes_of_the_same_total(void **state)
{
    (void)state;
    const kymo_report_diff_row *row = lifetimes(KYMO_DIFF_BY_TOTAL);
    assert_string_equal(row[0].name, "load");
    assert_true(row[0].change == 6 * 9 / 8. - 6);
    assert_true(row[0].lifetimes[1][6] == 5 * 9 / 8. && row[0].lifetimes[0][3] == 6);
    assert_true(kymo_report_diff_all(diff)->change == 0);
}

static void lifetimes_as_text(void **state)
{
    (void)state;
    char *text;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    const kymo_terminal t = {.to = to};
    lifetimes(KYMO_DIFF_AUTO);
    kymo_report_print_diff(&t, diff, KYMO_BY_FUNCTION, 1);
    fclose(to);
    assert_string_equal(
        text,
        "9 blocks freed to 8: -1 (-11.1 %)\n"
        "\n"
        "    change  95 %                          before       after       median         to  "
        "before   after    function\n"
        "         0                                     6           6        16 ns     128 ns  "
        "   █        ▂  █  load  app\n"
        "... and 1 more (--top 0 shows all)\n"
        "lives before and after: each step of a curve is twice the one before, from 0 ns to "
        "128 ns\n"
        "+: new; -: gone\n");
    free(text);
}

static void lifetimes_as_json(void **state)
{
    (void)state;
    kymo_bytes bytes;
    lifetimes(KYMO_DIFF_AUTO);
    kymo_bytes_init(&bytes, 1 << 16);
    ok(kymo_report_write_diff_json(diff, NULL, "function", "lifetimes", 1, &bytes.sink));
    ok(kymo_bytes_append(&bytes, "", 1));
    assert_string_equal(
        (char *)bytes.data,
        "{\"format\":1,\"mode\":\"lifetimes\",\"by\":\"function\",\"normalized\":\"none\","
        "\"changes\":[{\"name\":\"load\",\"file\":null,\"line\":null,\"module\":\"app\","
        "\"before\":6,\"after\":6,\"change\":0,\"low\":0,\"high\":0,"
        "\"lifetimes\":[[8,6,1],[64,0,5]],\"significant\":false}],"
        "\"total\":{\"name\":null,\"file\":null,\"line\":null,\"module\":null,\"before\":9,"
        "\"after\":8,\"change\":-1,\"low\":-1,\"high\":-1,"
        "\"lifetimes\":[[0,1,0],[8,8,3],[64,0,5]],\"significant\":true},\"unit\":\"objects\"}\n");
    kymo_bytes_deinit(&bytes);
}

static void what_cannot_be_compared(void **state)
{
    (void)state;
    ok(kymo_profile_finish(a.p));
    at[0].view = at[1].view = KYMO_HEAP_LIFETIMES;
    at[0].by = at[1].by = KYMO_BY_STACK;
    assert_int_equal(kymo_heap_diff_create(a.p, &at[0], a.p, &at[1], KYMO_DIFF_AUTO, &diff),
                     KYMO_E_INVALID);
    at[0].view = KYMO_HEAP_LIVE;
    at[0].by = KYMO_BY_FUNCTION;
    at[1] = at[0];
    at[1].view = KYMO_HEAP_PEAK;
    assert_int_equal(kymo_heap_diff_create(a.p, &at[0], a.p, &at[1], KYMO_DIFF_AUTO, &diff),
                     KYMO_E_INVALID);
    at[1] = at[0];
    at[1].by = KYMO_BY_LINE;
    assert_int_equal(kymo_heap_diff_create(a.p, &at[0], a.p, &at[1], KYMO_DIFF_AUTO, &diff),
                     KYMO_E_INVALID);
    at[1] = at[0];
    at[1].size = 1;
    assert_int_equal(kymo_heap_diff_create(a.p, &at[0], a.p, &at[1], KYMO_DIFF_AUTO, &diff),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_heap_diff_create(a.p, &at[0], b.p, &at[0], KYMO_DIFF_AUTO, &diff),
                     KYMO_E_INVALID);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(two_recordings),
        T(chance_is_no_growth),
        T(blocks_of_both_moments_are_no_source_of_error),
        T(lifetimes_are_compared_by_bucket),
        T(lifetimes_of_the_same_total),
        T(lifetimes_as_text),
        T(lifetimes_as_json),
        T(what_cannot_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
