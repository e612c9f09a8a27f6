/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/intervals.h"
#include "unit.h"

#include <stdlib.h>

static void add(kymo_intervals *v, uint64_t low, uint64_t high, uint32_t value)
{
    kymo_interval i = {.low = low, .high = high, .value = value};
    assert_int_equal(kymo_vec_push(v, i), KYMO_OK);
}

static uint32_t innermost(const kymo_intervals *v, uint64_t address)
{
    uint32_t at = kymo_intervals_find(v, address);
    return at == KYMO_INTERVAL_NONE ? KYMO_INTERVAL_NONE : v->data[at].value;
}

static void nested_ones_are_found_inside_out(void **state)
{
    (void)state;
    kymo_intervals v = {0};
    add(&v, 120, 130, 2);
    add(&v, 100, 200, 0);
    add(&v, 110, 150, 1);
    add(&v, 160, 170, 3);
    kymo_intervals_finish(&v);
    assert_int_equal(innermost(&v, 99), KYMO_INTERVAL_NONE);
    assert_int_equal(innermost(&v, 100), 0);
    assert_int_equal(innermost(&v, 129), 2);
    assert_int_equal(innermost(&v, 130), 1);
    assert_int_equal(innermost(&v, 150), 0);
    assert_int_equal(innermost(&v, 165), 3);
    assert_int_equal(innermost(&v, 199), 0);
    assert_int_equal(innermost(&v, 200), KYMO_INTERVAL_NONE);
    uint32_t at = kymo_intervals_find(&v, 125);
    at = kymo_intervals_next(&v, at, 125);
    assert_int_equal(v.data[at].value, 1);
    at = kymo_intervals_next(&v, at, 125);
    assert_int_equal(v.data[at].value, 0);
    assert_int_equal(kymo_intervals_next(&v, at, 125), KYMO_INTERVAL_NONE);
    kymo_vec_deinit(&v);
}

static void of_equal_ones_the_greater_value_is_inside(void **state)
{
    (void)state;
    kymo_intervals v = {0};
    add(&v, 10, 20, 5);
    add(&v, 10, 20, 7);
    add(&v, 10, 20, 6);
    kymo_intervals_finish(&v);
    assert_int_equal(innermost(&v, 15), 7);
    kymo_vec_deinit(&v);
}

static void an_empty_set_holds_nothing(void **state)
{
    (void)state;
    kymo_intervals v = {0};
    kymo_intervals_finish(&v);
    assert_int_equal(kymo_intervals_find(&v, 1), KYMO_INTERVAL_NONE);
}

/* Also those that overlap without nesting: everything that holds an address is visited. */
static void random_sets_agree_with_a_scan(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 200; round++) {
        kymo_intervals v = {0};
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t low = (uint64_t)(rand() % 100);
            add(&v, low, low + 1 + (uint64_t)(rand() % 40), i);
        }
        kymo_intervals_finish(&v);
        for (uint64_t address = 0; address < 145; address++) {
            size_t expected = 0, found = 0;
            for (size_t i = 0; i < v.len; i++)
                expected += v.data[i].low <= address && address < v.data[i].high;
            for (uint32_t at = kymo_intervals_find(&v, address); at != KYMO_INTERVAL_NONE;
                 at = kymo_intervals_next(&v, at, address)) {
                assert_true(v.data[at].low <= address && address < v.data[at].high);
                found++;
            }
            assert_int_equal(found, expected);
        }
        kymo_vec_deinit(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_ones_are_found_inside_out),
        cmocka_unit_test(of_equal_ones_the_greater_value_is_inside),
        cmocka_unit_test(an_empty_set_holds_nothing),
        cmocka_unit_test(random_sets_agree_with_a_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
