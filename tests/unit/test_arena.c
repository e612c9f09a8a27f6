/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arena.h"
#include "unit.h"

static void blocks_do_not_overlap(void **state)
{
    (void)state;
    kymo_arena arena;
    kymo_arena_init(&arena);
    char *blocks[2000];
    for (size_t i = 0; i < 2000; i++) {
        size_t size = i * 37 % 50000;
        blocks[i] = kymo_arena_alloc(&arena, size, (size_t)1 << (i % 7));
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] & (((uintptr_t)1 << (i % 7)) - 1), 0);
        memset(blocks[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < i * 37 % 50000; k++)
            if ((unsigned char)blocks[i][k] != (i & 0xff))
                fail_msg("block %zu was overwritten at %zu", i, k);
    kymo_arena_deinit(&arena);
    assert_null(arena.chunks);
}

static void calloc_clears_and_strndup_ends(void **state)
{
    (void)state;
    kymo_arena arena = {0};
    memset(kymo_arena_alloc(&arena, 100, 1), 0xff, 100);
    char *zero = kymo_arena_calloc(&arena, 100, 8);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zero[i], 0);
    assert_string_equal(kymo_arena_strndup(&arena, "kymograph", 4), "kymo");
    kymo_arena_deinit(&arena);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    kymo_arena arena = {0};
    assert_null(kymo_arena_alloc(&arena, SIZE_MAX - 8, 8));
    assert_non_null(kymo_arena_alloc(&arena, 8, 8));
    kymo_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap),
        cmocka_unit_test(calloc_clears_and_strndup_ends),
        cmocka_unit_test(absurd_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
