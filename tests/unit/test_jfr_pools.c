/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_pools.h"
#include "profile_fixture.h"

struct made {
    kymo_profile *p;
    kymo_jfr_pools pools;
    uint32_t stack, truncated; /* f in g; f in [truncated stack] */
};

static uint32_t add_label(kymo_profile *p, const char *name)
{
    kymo_function function = {
        .name = add_string(p, name), .source = KYMO_NONE, .module = KYMO_NONE};
    uint32_t id, frame;
    ok(kymo_profile_add_function(p, &function, &id));
    ok(kymo_profile_add_label_frame(p, id, KYMO_CATEGORY_OTHER, &frame));
    return frame;
}

static struct made make(void)
{
    struct made m = {.p = new_profile()};
    uint32_t one = add_process(m.p, 10, 1);
    uint32_t two = add_process(m.p, 20, 1);
    add_thread(m.p, one, 10, 1);
    add_thread(m.p, two, 10, 1); /* in another namespace */
    add_thread(m.p, two, 21, 1);
    uint32_t f = add_label(m.p, "f");
    m.stack = add_stack(m.p, add_stack(m.p, KYMO_NONE, add_label(m.p, "g")), f);
    m.truncated = add_stack(m.p, add_stack(m.p, KYMO_NONE, add_label(m.p, "[truncated stack]")), f);
    ok(kymo_profile_finish(m.p));
    ok(kymo_jfr_pools_init(&m.pools, m.p));
    return m;
}

static void destroy(struct made *m)
{
    kymo_jfr_pools_deinit(&m->pools);
    kymo_profile_destroy(m->p);
}

static void a_constant_is_written_once_in_a_chunk(void **state)
{
    (void)state;
    struct made m = make();
    uint32_t key = kymo_jfr_stack_key(&m.pools, m.stack);
    size_t size = kymo_jfr_pools_size(&m.pools);
    assert_int_equal(m.pools.pool[KYMO_JFR_POOL_STACKS].count, 1);
    assert_int_equal(m.pools.pool[KYMO_JFR_POOL_METHODS].count, 2);
    assert_int_equal(kymo_jfr_stack_key(&m.pools, m.stack), key);
    assert_int_equal(kymo_jfr_pools_size(&m.pools), size);
    kymo_jfr_pools_clear(&m.pools);
    assert_int_equal(kymo_jfr_pools_size(&m.pools), 0);
    /* The number stays, and the constant is there again. */
    assert_int_equal(kymo_jfr_stack_key(&m.pools, m.stack), key);
    assert_int_equal(kymo_jfr_pools_size(&m.pools), size);
    assert_false(kymo_jfr_pools_failed(&m.pools));
    destroy(&m);
}

/* Behind its number in the pool. */
static int truncated_flag(struct made *m, uint32_t stack)
{
    size_t at = m->pools.pool[KYMO_JFR_POOL_STACKS].bytes.len;
    kymo_jfr_stack_key(&m->pools, stack);
    return m->pools.pool[KYMO_JFR_POOL_STACKS].bytes.data[at + 1];
}

static void stacks_say_whether_they_are_whole(void **state)
{
    (void)state;
    struct made m = make();
    assert_int_equal(truncated_flag(&m, m.stack), 0);
    assert_int_equal(truncated_flag(&m, m.truncated), 1);
    assert_int_equal(truncated_flag(&m, KYMO_NONE), 1);
    assert_int_not_equal(kymo_jfr_stack_key(&m.pools, KYMO_NONE), 0);
    destroy(&m);
}

/* The tid, for the first thread that has it. */
static void threads_have_numbers_of_their_own(void **state)
{
    (void)state;
    struct made m = make();
    uint32_t keys[3];
    for (uint32_t i = 0; i < 3; i++)
        keys[i] = kymo_jfr_thread_key(&m.pools, i);
    assert_int_equal(keys[0], 10);
    assert_int_equal(keys[2], 21);
    assert_true(keys[1] >= 2 * KYMO_THREADS_MAX);
    assert_int_equal(kymo_jfr_thread_key(&m.pools, KYMO_NONE), 0);
    assert_int_equal(m.pools.pool[KYMO_JFR_POOL_THREADS].count, 3);
    destroy(&m);
}

/* Readers refuse a pool without a constant. */
static void empty_pools_are_left_out(void **state)
{
    (void)state;
    struct made m = make();
    kymo_jfr_bytes out = {0};
    kymo_jfr_pools_write(&m.pools, &out, 0);
    /* size, class, start, duration, no event before it, a flag, no pools */
    assert_int_equal(out.len, 7);
    assert_memory_equal(out.data, "\7\1\0\0\0\0\0", 7);
    kymo_jfr_bytes_clear(&out);
    kymo_jfr_state_key(&m.pools, KYMO_JFR_STATE_SLEEPING);
    kymo_jfr_pools_write(&m.pools, &out, 0);
    assert_int_equal(out.data[6], 1);
    assert_non_null(memmem(out.data, out.len, "STATE_SLEEPING", 14));
    assert_null(memmem(out.data, out.len, "STATE_BLOCKED", 13));
    kymo_jfr_bytes_deinit(&out);
    destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_is_written_once_in_a_chunk),
        cmocka_unit_test(stacks_say_whether_they_are_whole),
        cmocka_unit_test(threads_have_numbers_of_their_own),
        cmocka_unit_test(empty_pools_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
