/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch_start.h"

#include <signal.h>
#include <string.h>

#include "unit.h"

static void a_period_that_is_long_enough_stays(void **state)
{
    (void)state;
    assert_int_equal(kymo_affordable_period_ns(1000000, 32000, 10), 1000000);
    assert_int_equal(kymo_affordable_period_ns(320000, 32000, 10), 320000);
    assert_int_equal(kymo_affordable_period_ns(20000, 0, 10), 20000); /* not known */
    assert_int_equal(kymo_affordable_period_ns(20000, UINT64_MAX, 10), 20000);
}

static void a_shorter_one_becomes_what_is_affordable(void **state)
{
    (void)state;
    assert_int_equal(kymo_affordable_period_ns(20000, 32000, 10), 320000);
    assert_int_equal(kymo_affordable_period_ns(20000, 32000, 50), 64000);
    /* Two digits, never below what is asked. */
    assert_int_equal(kymo_affordable_period_ns(20000, 31234, 10), 320000);
    assert_int_equal(kymo_affordable_period_ns(10000, 1001, 10), 11000);
    assert_int_equal(kymo_affordable_period_ns(10, 1, 100), 10);
}

/* How much it is, is the machine's; that the signal is the process's again, is ours. */
static void measuring_leaves_no_trace(void **state)
{
    (void)state;
    struct sigaction before, after;
    sigset_t mask_before, mask_after;
    int why;
    sigaction(SIGURG, NULL, &before);
    sigprocmask(SIG_BLOCK, NULL, &mask_before);
    enum kymo_perf_access access = kymo_perf_probe(&why);
    if (access != KYMO_PERF_NONE)
        (void)kymo_sample_cost_perf_ns(access);
    assert_true(kymo_sample_cost_signal_ns() > 0);
    sigaction(SIGURG, NULL, &after);
    sigprocmask(SIG_BLOCK, NULL, &mask_after);
    assert_true(before.sa_handler == after.sa_handler);
    for (int signo = 1; signo < SIGRTMIN; signo++)
        assert_int_equal(sigismember(&mask_before, signo), sigismember(&mask_after, signo));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_period_that_is_long_enough_stays),
        cmocka_unit_test(a_shorter_one_becomes_what_is_affordable),
        cmocka_unit_test(measuring_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
