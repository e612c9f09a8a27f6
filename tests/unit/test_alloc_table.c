/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "capture/alloc.h"
#include "capture/alloc_table.h"
#include "unit.h"

static uint64_t filter_sum(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < KYMO_ALLOC_FILTER_BYTES; i++)
        sum += kymo_alloc_filter[i];
    return sum;
}

static uint64_t count_all(uint64_t *ids)
{
    struct kymo_alloc_cursor cursor = {0, 0};
    uint64_t address, id, count = 0;
    int found;
    for (;;) {
        uint32_t slots = 1000;
        found = kymo_alloc_table_next(&cursor, &slots, &address, &id);
        if (found < 0)
            break;
        count += found == 1;
        *ids += found == 1 ? id : 0;
    }
    return count;
}

static void what_was_put_is_taken_once(void **state)
{
    (void)state;
    assert_int_equal(kymo_alloc_table_take(4096), 0);
    assert_true(kymo_alloc_table_put(4096, 7, 0));
    assert_int_equal(*kymo_alloc_filter_of(4096), 1);
    assert_int_equal(*kymo_alloc_filter_of(4096 + 63), 1);
    assert_int_equal(*kymo_alloc_filter_of(4096 + 64), 0);
    /* Another block of the same granule is none of ours. */
    assert_int_equal(kymo_alloc_table_take(4096 + 16), 0);
    assert_int_equal(kymo_alloc_table_take(4096), 7);
    assert_int_equal(kymo_alloc_table_take(4096), 0);
    assert_int_equal(filter_sum(), 0);
}

static void a_filter_that_is_full_stays_so(void **state)
{
    (void)state;
    enum { STEP = 64 << 20, BLOCKS = 300 };
    for (uint64_t i = 1; i <= BLOCKS; i++)
        assert_true(kymo_alloc_table_put(i * STEP + 128, i, 0));
    assert_int_equal(*kymo_alloc_filter_of(128), UINT8_MAX);
    for (uint64_t i = 1; i <= BLOCKS; i++)
        assert_int_equal(kymo_alloc_table_take(i * STEP + 128), i);
    assert_int_equal(*kymo_alloc_filter_of(128), UINT8_MAX);
    *kymo_alloc_filter_of(128) = 0;
}

static uint64_t address_of(uint64_t i)
{
    return 0x7f0000000000ull + i * 48;
}

static void without_system_calls_it_gets_full_and_stays_right(void **state)
{
    (void)state;
    uint64_t bytes, ids = 0, n = 0;
    kymo_alloc_table_level(1, &bytes);
    assert_int_equal(bytes, 0);
    while (kymo_alloc_table_put(address_of(n), n + 1, 0))
        n++;
    assert_true(n > 2000);
    assert_int_equal(filter_sum(), n);
    assert_int_equal(count_all(&ids), n);
    assert_int_equal(ids, n * (n + 1) / 2);
    assert_int_equal(kymo_alloc_table_take(address_of(n)), 0);
    while (n-- > 0)
        assert_int_equal(kymo_alloc_table_take(address_of(n)), n + 1);
    assert_int_equal(filter_sum(), 0);
}

static void it_grows_by_levels(void **state)
{
    (void)state;
    enum { BLOCKS = 400000 };
    uint64_t bytes, ids = 0;
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_true(kymo_alloc_table_put(address_of(i), i + 1, 1));
    assert_int_not_equal(kymo_alloc_table_level(1, &bytes), 0);
    assert_int_equal(bytes, 4 << 20);
    assert_int_not_equal(kymo_alloc_table_level(2, &bytes), 0);
    assert_int_equal(kymo_alloc_table_level(3, &bytes), 0);
    for (uint32_t none = KYMO_ALLOC_LEVELS; none < 16; none++) {
        assert_int_equal(kymo_alloc_table_level(none, &bytes), 0);
        assert_int_equal(bytes, 0);
    }
    assert_int_equal(count_all(&ids), BLOCKS);
    assert_int_equal(ids, (uint64_t)BLOCKS * (BLOCKS + 1) / 2);
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_int_equal(kymo_alloc_table_take(address_of(i)), i + 1);
    ids = 0;
    assert_int_equal(count_all(&ids), 0);
}

static void a_child_has_its_copy(void **state)
{
    (void)state;
    int status = -1;
    assert_true(kymo_alloc_table_put(4096, 7, 0));
    pid_t child = fork();
    if (child == 0)
        _exit(kymo_alloc_table_take(4096) == 7 && *kymo_alloc_filter_of(4096) == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(kymo_alloc_table_take(4096), 7);
}

/* ---- threads ---- */

enum { THREADS = 8, EACH = 4000, ROUNDS = 5 };
static pthread_barrier_t barrier;
static uint32_t wrong;

static uint64_t block_of(uint64_t thread, uint64_t i)
{
    return 0x550000000000ull + (i * THREADS + thread) * 16;
}

static void *put_and_take(void *argument)
{
    uint64_t self = (uint64_t)(uintptr_t)argument, next = (self + 1) % THREADS;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < EACH; i++) {
            uint64_t address = block_of(self, i);
            int is_right = kymo_alloc_table_put(address, address ^ 1, 1);
            /* Some at once, most by another thread. */
            if (i % 4 == 0)
                is_right = is_right && kymo_alloc_table_take(address) == (address ^ 1);
            if (!is_right)
                kymo_add_relaxed(&wrong, 1u);
        }
        pthread_barrier_wait(&barrier);
        for (uint64_t i = 0; i < EACH; i++) {
            uint64_t address = block_of(next, i);
            if (kymo_alloc_table_take(address) != (i % 4 == 0 ? 0 : address ^ 1))
                kymo_add_relaxed(&wrong, 1u);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void threads_never_confuse_each_others_blocks(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t ids = 0;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_take, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(wrong, 0);
    assert_int_equal(count_all(&ids), 0);
    assert_int_equal(filter_sum(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_taken_once),
        cmocka_unit_test(a_filter_that_is_full_stays_so),
        cmocka_unit_test(without_system_calls_it_gets_full_and_stays_right),
        cmocka_unit_test(it_grows_by_levels),
        cmocka_unit_test(a_child_has_its_copy),
        cmocka_unit_test(threads_never_confuse_each_others_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
