/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "base/search.h"
#include "unit.h"

#include <stdint.h>

static int not_above(const void *rows, size_t i, const void *key)
{
    return ((const uint32_t *)rows)[i] <= *(const uint32_t *)key;
}

static void counts_what_a_walk_would(void **state)
{
    (void)state;
    uint32_t rows[40];
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(rows); i++)
        rows[i] = 3 * (i / 2) + 2; /* each twice */
    for (size_t count = 0; count <= KYMO_ARRAY_LEN(rows); count++) {
        for (uint32_t key = 0; key < 70; key++) {
            size_t expected = 0;
            while (expected < count && rows[expected] <= key)
                expected++;
            assert_int_equal(kymo_search_count(rows, count, not_above, &key), expected);
        }
    }
}

static void no_rows_need_no_array(void **state)
{
    (void)state;
    uint32_t key = 1;
    assert_int_equal(kymo_search_count(NULL, 0, not_above, &key), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_a_walk_would),
        cmocka_unit_test(no_rows_need_no_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
