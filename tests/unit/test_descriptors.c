/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <sys/resource.h>

#include "recorder/descriptors.h"

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
    set_soft_limit(3);
    int of_three = kymo_descriptors_for(KYMO_DESCRIPTORS_IMAGES);
    set_soft_limit(before.rlim_max);
    assert_int_equal(of_three, 0);
    assert_in_range(kymo_descriptors_for(KYMO_DESCRIPTORS_EVENTS), 1, 1 << 20);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
