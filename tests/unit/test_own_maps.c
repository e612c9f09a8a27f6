/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/own_maps.h"

#include <sys/mman.h>

#include "unit.h"

static void every_mapping_is_told_once_and_in_order(void **state)
{
    (void)state;
    struct kymo_own_maps maps;
    uint64_t lo, hi, end = 0;
    int count = 0, stack = 0, code = 0;
    /* More than a buffer has room for. */
    for (int i = 0; i < 64; i++)
        assert_true(mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0) != MAP_FAILED);
    assert_true(kymo_own_maps_open(&maps));
    while (kymo_own_maps_next(&maps, &lo, &hi)) {
        assert_true(lo >= end && lo < hi && lo % 4096 == 0 && hi % 4096 == 0);
        end = hi;
        count++;
        stack += (uint64_t)(uintptr_t)&maps >= lo && (uint64_t)(uintptr_t)&maps < hi;
        code += (uint64_t)(uintptr_t)kymo_own_maps_open >= lo &&
                (uint64_t)(uintptr_t)kymo_own_maps_open < hi;
    }
    assert_false(kymo_own_maps_next(&maps, &lo, &hi));
    kymo_own_maps_close(&maps);
    assert_true(count > 32);
    assert_int_equal(stack, 1);
    assert_int_equal(code, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mapping_is_told_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
