/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "observe/descriptors.h"

static const enum kymo_descriptor_use uses[] = {KYMO_DESCRIPTORS_IMAGES, KYMO_DESCRIPTORS_CALLS,
                                                KYMO_DESCRIPTORS_WATCH, KYMO_DESCRIPTORS_EVENTS};

static void set_soft_limit(rlim_t soft)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = soft;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Each use leaves room for the next, and the last one for what is opened for a moment. */
static void shares(void **state)
{
    (void)state;
    for (rlim_t all = 64; all <= 1024; all *= 2) {
        set_soft_limit(all);
        int before = 0;
        for (unsigned i = 0; i < 4; i++) {
            int most = kymo_descriptors_for(uses[i]);
            assert_true(most >= before + (int)all / 8);
            before = most;
        }
        assert_true(before <= (int)all - (int)all / 8);
    }
}

/* Of a limit too small for anything, and of the highest that there is. */
static void ends(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    set_soft_limit(2);
    int of_two = kymo_descriptors_for(KYMO_DESCRIPTORS_IMAGES);
    set_soft_limit(before.rlim_max);
    assert_int_equal(of_two, 0);
    assert_in_range(kymo_descriptors_for(KYMO_DESCRIPTORS_EVENTS), 1, 1 << 20);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* What is beyond the share of a use is not kept; the lowest free number tells how many are left. */
static void numbers(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    set_soft_limit(64);
    int low = open("/dev/null", O_RDONLY);
    assert_in_range(low, 0, 23);
    assert_int_equal(kymo_descriptors_keep(low, KYMO_DESCRIPTORS_IMAGES), low);
    int high = fcntl(low, F_DUPFD, 24);
    assert_int_equal(kymo_descriptors_keep(high, KYMO_DESCRIPTORS_IMAGES), -1);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(fcntl(high, F_GETFD), -1);
    assert_int_equal(kymo_descriptors_keep(-1, KYMO_DESCRIPTORS_IMAGES), -1);
    assert_false(kymo_descriptors_run_short(low, 4));
    int last = low;
    while (last < 60)
        last = dup(low);
    assert_false(kymo_descriptors_run_short(low, 3));
    assert_true(kymo_descriptors_run_short(low, 4));
    while (dup(low) >= 0)
        ;
    assert_true(kymo_descriptors_run_short(low, 1));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),
        cmocka_unit_test(ends),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
