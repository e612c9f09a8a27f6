/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/hash.h"
#include "unit.h"

static void index_finds_all_and_only(void **state)
{
    (void)state;
    enum { N = 20000 };
    kymo_index index = {0};
    for (uint32_t i = 0; i < N; i++) {
        uint64_t key = (uint64_t)i * 16;
        assert_int_equal(kymo_index_put(&index, kymo_hash_words(&key, 1, 0), i), KYMO_OK);
    }
    for (uint32_t i = 0; i < 2 * N; i++) {
        uint64_t key = (uint64_t)i * 16;
        size_t probe = 0;
        uint32_t at;
        int found = 0;
        while (kymo_index_find(&index, kymo_hash_words(&key, 1, 0), &probe, &at))
            if (at == i)
                found++;
        assert_int_equal(found, i < N);
    }
    kymo_index_deinit(&index);
}

static void equal_hashes_are_all_offered(void **state)
{
    (void)state;
    kymo_index index = {0};
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(kymo_index_put(&index, 0x1234567800000000ull, i), KYMO_OK);
    size_t probe = 0;
    uint32_t at;
    int seen[100] = {0};
    while (kymo_index_find(&index, 0x1234567800000000ull, &probe, &at))
        seen[at]++;
    for (int i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    kymo_index_deinit(&index);
}

static void bytes_differ_by_length_and_content(void **state)
{
    (void)state;
    const char zeros[32] = {0};
    for (size_t n = 0; n < 31; n++)
        assert_true(kymo_hash_bytes(zeros, n, 0) != kymo_hash_bytes(zeros, n + 1, 0));
    assert_true(kymo_hash_bytes("abcdefgh1", 9, 0) != kymo_hash_bytes("abcdefgh2", 9, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_finds_all_and_only),
        cmocka_unit_test(equal_hashes_are_all_offered),
        cmocka_unit_test(bytes_differ_by_length_and_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
