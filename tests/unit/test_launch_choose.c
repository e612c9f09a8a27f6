/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a session gets. */
#include "launch/launch_start.h"
#include "unit.h"

#define MIB (1ull << 20)

static void what_was_asked_for_is_what_there_is(void **state)
{
    (void)state;
    assert_int_equal(kymo_launch_choose_buffer(MIB, 0, 0), MIB);
    assert_int_equal(kymo_launch_choose_buffer(MIB, 1, 0), MIB);
    assert_int_equal(kymo_launch_choose_buffer(4096 * MIB, 512 << 10, 0), 4096 * MIB);
}

/* What a cgroup's limit allows of it is the machine's. */
static void dense_allocations_want_more(void **state)
{
    (void)state;
    uint64_t usual = kymo_launch_choose_buffer(0, 0, 0);
    uint64_t dense = kymo_launch_choose_buffer(0, 1, 0);
    assert_true(usual >= 4 * MIB && usual <= 32 * MIB);
    assert_true(dense >= usual && dense <= 256 * MIB);
    assert_true(dense > usual || usual < 32 * MIB);
    assert_int_equal(kymo_launch_choose_buffer(0, 4095, 0), dense);
    assert_int_equal(kymo_launch_choose_buffer(0, 4096, 0), usual);
    assert_int_equal(kymo_launch_choose_buffer(0, 512 << 10, 0), usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for_is_what_there_is),
        cmocka_unit_test(dense_allocations_want_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
