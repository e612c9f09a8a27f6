/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/wall_running.h"

#include <string.h>

#include "unit.h"

#define NONE KYMO_EVENT_NONE

static struct kymo_wall_running running;
static kymo_event_sample got[64];
static char got_task[64]; /* the first letter; 0: none */
static uint32_t n_got;

static kymo_err keep(void *context, const kymo_event_sample *sample,
                     const struct kymo_python_task *task)
{
    (void)context;
    assert_true(n_got < 64);
    got_task[n_got] = (char)(task && task->bytes ? task->name[0] : 0);
    got[n_got++] = *sample;
    return KYMO_OK;
}

static const struct kymo_wall_sink sink = {keep, NULL};

static int begin(void **state)
{
    (void)state;
    memset(&running, 0, sizeof running);
    n_got = 0;
    return 0;
}

static void add(uint64_t from_ns, uint64_t to_ns)
{
    assert_int_equal(kymo_wall_running_add(&running, from_ns, to_ns, &sink), KYMO_OK);
}

static void sample(uint64_t time_ns, uint32_t stack)
{
    assert_int_equal(kymo_wall_running_sample(&running, time_ns, stack, NULL, &sink), KYMO_OK);
}

/* The oldest one that was put. */
static void expect(uint64_t from_ns, uint64_t to_ns, uint32_t stack)
{
    assert_true(n_got > 0);
    assert_int_equal(got[0].time_ns, from_ns);
    assert_int_equal(got[0].weight_ns, to_ns - from_ns);
    assert_int_equal(got[0].stack, stack);
    assert_int_equal(got[0].kind, 1);
    assert_int_equal(got[0].state, 1);
    memmove(got, got + 1, --n_got * sizeof *got);
}

static void a_tick_gets_the_nearest_sample(void **state)
{
    (void)state;
    sample(10, 1);
    add(0, 20);
    add(20, 30);
    sample(25, 2); /* 5 behind the tick at 20, which the one at 10 is further from */
    expect(0, 20, 2);
    assert_int_equal(n_got, 0);
    sample(50, 3); /* 20 behind the tick at 30, and 25 is 5 before it */
    expect(20, 30, 2);
    assert_int_equal(n_got, 0);
}

static void a_sample_before_the_tick_is_not_the_last_word(void **state)
{
    (void)state;
    add(0, 20);
    sample(19, 1);
    assert_int_equal(n_got, 0);
    sample(22, 2);
    expect(0, 20, 1);
}

static void the_first_sample_is_waited_for(void **state)
{
    (void)state;
    add(0, 20);
    assert_int_equal(kymo_wall_running_flush(&running, 1000000, &sink), KYMO_OK);
    assert_int_equal(n_got, 0);
    sample(2000000, 7);
    expect(0, 20, 7);
    /* From then on there is one before, which will do. */
    add(2000000, 2000020);
    assert_int_equal(kymo_wall_running_flush(&running, 2000020, &sink), KYMO_OK);
    assert_int_equal(n_got, 0);
    assert_int_equal(kymo_wall_running_flush(&running, 2000021, &sink), KYMO_OK);
    expect(2000000, 2000020, 7);
}

static void a_full_queue_gives_up_the_oldest(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < KYMO_WALL_RUNNING_MAX + 2; i++)
        add(20 * i, 20 * i + 10);
    assert_int_equal(n_got, 2);
    expect(0, 10, NONE);
    expect(20, 30, NONE);
    sample(10000, 4);
    assert_int_equal(n_got, KYMO_WALL_RUNNING_MAX);
    expect(40, 50, 4);
}

static void before_the_first_sample_neighbours_are_one(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        add(10 * i, 10 * i + 10);
    add(1010, 1020);
    assert_int_equal(running.n, 2);
    sample(1030, 4);
    expect(0, 1000, 4);
    expect(1010, 1020, 4);
    add(1020, 1030);
    add(1030, 1040);
    assert_int_equal(running.n, 2);
}

static void the_end_belongs_to_the_last_tick(void **state)
{
    (void)state;
    add(0, 20);
    assert_int_equal(kymo_wall_running_last(&running, 20, 27, &sink), KYMO_OK);
    assert_int_equal(running.n, 1);
    assert_int_equal(kymo_wall_running_end(&running, &sink), KYMO_OK);
    expect(0, 27, NONE);
}

static void what_follows_a_wait_is_a_run_of_its_own(void **state)
{
    (void)state;
    sample(5, 3);
    add(0, 20);
    assert_int_equal(kymo_wall_running_last(&running, 40, 47, &sink), KYMO_OK);
    assert_int_equal(kymo_wall_running_last(&running, 47, 47, &sink), KYMO_OK);
    assert_int_equal(kymo_wall_running_end(&running, &sink), KYMO_OK);
    expect(0, 20, 3);
    expect(40, 47, 3);
    assert_int_equal(n_got, 0);
}

/* A tick gets the task of the CPU sample whose stack it gets. */
static void a_task_comes_with_its_stack(void **state)
{
    (void)state;
    const struct kymo_python_task a = {1, "a"}, b = {1, "b"};
    static const struct {
        uint32_t stack;
        char task;
    } expected[] = {{1, 'a'}, {1, 'a'}, {2, 0}, {3, 'b'}, {3, 'b'}};
    add(0, 10);
    assert_int_equal(kymo_wall_running_sample(&running, 12, 1, &a, &sink), KYMO_OK);
    add(10, 20);
    assert_int_equal(kymo_wall_running_sample(&running, 40, 2, NULL, &sink), KYMO_OK);
    add(20, 41);
    assert_int_equal(kymo_wall_running_sample(&running, 60, 3, &b, &sink), KYMO_OK);
    add(41, 61);
    assert_int_equal(kymo_wall_running_flush(&running, 100, &sink), KYMO_OK);
    add(61, 70);
    assert_int_equal(kymo_wall_running_end(&running, &sink), KYMO_OK);
    assert_int_equal(n_got, KYMO_ARRAY_LEN(expected));
    for (uint32_t i = 0; i < n_got; i++) {
        assert_int_equal(got[i].stack, expected[i].stack);
        assert_int_equal(got_task[i], expected[i].task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_task_comes_with_its_stack, begin),
        cmocka_unit_test_setup(a_tick_gets_the_nearest_sample, begin),
        cmocka_unit_test_setup(a_sample_before_the_tick_is_not_the_last_word, begin),
        cmocka_unit_test_setup(the_first_sample_is_waited_for, begin),
        cmocka_unit_test_setup(a_full_queue_gives_up_the_oldest, begin),
        cmocka_unit_test_setup(before_the_first_sample_neighbours_are_one, begin),
        cmocka_unit_test_setup(the_end_belongs_to_the_last_tick, begin),
        cmocka_unit_test_setup(what_follows_a_wait_is_a_run_of_its_own, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
