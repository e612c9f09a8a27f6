/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

#include <math.h>

static kymo_allocation plain(uint64_t time_ns, uint64_t end_ns)
{
    return (kymo_allocation){.time_ns = time_ns,
                             .end_ns = end_ns,
                             .birth_ns = time_ns,
                             .bytes = 100,
                             .weight = 1,
                             .end_thread = KYMO_NONE,
                             .distance = UINT32_MAX,
                             .stack = KYMO_NONE,
                             .labels = KYMO_NONE,
                             .previous = KYMO_NONE};
}

static kymo_profile *two_processes(void)
{
    kymo_profile *p = new_profile();
    for (int32_t i = 0; i < 2; i++) {
        add_process(p, 10 + i, 0);
        add_thread(p, (uint32_t)i, 10 + i, 0);
    }
    return p;
}

static void blocks_are_by_time_and_know_what_they_were(void **state)
{
    (void)state;
    kymo_profile *p = two_processes();
    uint32_t rows[50];
    size_t count;
    for (uint32_t i = 0; i < 50; i++) {
        kymo_allocation a = plain(i % 2 ? 1000 + i : 500 - i, KYMO_LIVES);
        a.address = i;
        a.previous = i >= 7 ? rows[i - 7] : KYMO_NONE;
        ok(kymo_profile_add_allocation(p, 1, &a, &rows[i]));
    }
    ok(kymo_profile_finish(p));
    const kymo_allocation *a = kymo_profile_allocations(p, 1, &count);
    assert_int_equal(count, 50);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || a[i - 1].time_ns <= a[i].time_ns);
        if (a[i].address < 7)
            assert_int_equal(a[i].previous, KYMO_NONE);
        else
            assert_int_equal(a[a[i].previous].address, a[i].address - 7);
    }
    assert_null(kymo_profile_allocations(p, 0, &count));
    assert_int_equal(count, 0);
    assert_null(kymo_profile_allocations(p, 2, &count));
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS), 50);
    kymo_profile_destroy(p);
}

static void of_one_time_they_are_as_they_came(void **state)
{
    (void)state;
    kymo_profile *p = two_processes();
    size_t count;
    for (uint64_t i = 0; i < 20; i++) {
        kymo_allocation a = plain(100 - i / 10, KYMO_LIVES);
        a.address = i;
        ok(kymo_profile_add_allocation(p, 0, &a, NULL));
    }
    ok(kymo_profile_finish(p));
    const kymo_allocation *a = kymo_profile_allocations(p, 0, &count);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(a[i].address, (i + 10) % 20);
    kymo_profile_destroy(p);
}

static void no_block_ends_before_it_begins(void **state)
{
    (void)state;
    kymo_profile *p = two_processes();
    size_t count;
    kymo_allocation in = plain(100, 50);
    in.birth_ns = 120;
    ok(kymo_profile_add_allocation(p, 0, &in, NULL));
    const kymo_allocation *a = kymo_profile_allocations(p, 0, &count);
    assert_int_equal(a->end_ns, 100);
    assert_int_equal(a->birth_ns, 100);
    kymo_profile_destroy(p);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = two_processes();
    kymo_allocation wrong[9];
    for (size_t i = 0; i < 9; i++)
        wrong[i] = plain(1, 2);
    wrong[0].thread = 2;
    wrong[1].end_thread = 2;
    wrong[2].stack = 0;
    wrong[3].labels = 0;
    wrong[4].previous = 0;
    wrong[5].family = KYMO_FAMILY_COUNT;
    wrong[6].weight = 0;
    wrong[7].weight = NAN;
    wrong[8].weight = INFINITY;
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(kymo_profile_add_allocation(p, 0, &wrong[i], NULL), KYMO_E_INVALID);
    kymo_allocation good = plain(1, 2);
    assert_int_equal(kymo_profile_add_allocation(p, 2, &good, NULL), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS), 0);
    kymo_profile_destroy(p);
}

static void stacks_of_memory_stay(void **state)
{
    (void)state;
    kymo_profile *p = two_processes();
    size_t count;
    add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 1));
    uint32_t outer = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 2));
    kymo_allocation a = plain(1, 2);
    a.stack = add_stack(p, outer, add_frame(p, KYMO_NONE, 3));
    ok(kymo_profile_add_allocation(p, 0, &a, NULL));
    add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 4));
    kymo_mapping m = {.address = 4096, .bytes = 4096};
    m.stack = add_stack(p, outer, add_frame(p, KYMO_NONE, 5));
    ok(kymo_profile_add_mapping(p, 1, &m));
    ok(kymo_profile_drop_unused_stacks(p));
    kymo_stacks stacks = kymo_profile_stacks(p);
    assert_int_equal(stacks.count, 3);
    uint32_t stack = kymo_profile_allocations(p, 0, &count)->stack;
    assert_int_equal(kymo_profile_frame(p, stacks.frame[stack])->address, 3);
    assert_int_equal(kymo_profile_frame(p, stacks.frame[stacks.parent[stack]])->address, 2);
    stack = kymo_profile_mappings(p, 1, &count)->stack;
    assert_int_equal(kymo_profile_frame(p, stacks.frame[stack])->address, 5);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_by_time_and_know_what_they_were),
        cmocka_unit_test(of_one_time_they_are_as_they_came),
        cmocka_unit_test(no_block_ends_before_it_begins),
        cmocka_unit_test(unknown_ids_are_refused),
        cmocka_unit_test(stacks_of_memory_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
