/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void finish_sorts_and_keeps_columns_together(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t t = add_thread(p, add_process(p, 1, 0), 1, 0);
    uint32_t stack = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 1));
    uint64_t random = 3;
    enum { N = 3000 };
    for (uint64_t i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t time = random >> 54; /* 1024 times, so that many are equal */
        ok(kymo_profile_add_sample(p, t, time, time % 2 ? stack : KYMO_NONE, time << 20 | i,
                                   time % 2 ? KYMO_SAMPLE_WALL : KYMO_SAMPLE_CPU,
                                   (kymo_thread_state)(time % KYMO_STATE_COUNT)));
    }
    ok(kymo_profile_finish(p));
    kymo_samples s = kymo_profile_samples(p, t);
    assert_int_equal(s.count, N);
    for (size_t i = 0; i < s.count; i++) {
        assert_int_equal(s.weight_ns[i] >> 20, s.time_ns[i]);
        assert_int_equal(s.stack[i], s.time_ns[i] % 2 ? stack : KYMO_NONE);
        assert_int_equal(s.kind[i], s.time_ns[i] % 2);
        assert_int_equal(s.state[i], s.time_ns[i] % KYMO_STATE_COUNT);
        if (i > 0) /* by time, and in the order of adding within one */
            assert_true(s.weight_ns[i - 1] < s.weight_ns[i]);
    }
    assert_int_equal(kymo_profile_sample_count(p), N);
    kymo_profile_destroy(p);
}

static void bad_samples_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t t = add_thread(p, add_process(p, 1, 0), 1, 0);
    assert_int_equal(kymo_profile_add_sample(p, 1, 0, KYMO_NONE, 0, KYMO_SAMPLE_CPU, 0),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_profile_add_sample(p, t, 0, 0, 0, KYMO_SAMPLE_CPU, 0), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_add_sample(p, t, 0, KYMO_NONE, 0, KYMO_SAMPLE_KIND_COUNT, 0),
                     KYMO_E_INVALID);
    assert_int_equal(
        kymo_profile_add_sample(p, t, 0, KYMO_NONE, 0, KYMO_SAMPLE_CPU, KYMO_STATE_COUNT),
        KYMO_E_INVALID);
    p->sample_count = KYMO_SAMPLES_MAX;
    assert_int_equal(kymo_profile_add_sample(p, t, 0, KYMO_NONE, 0, KYMO_SAMPLE_CPU, 0),
                     KYMO_E_TOO_BIG);
    assert_int_equal(kymo_profile_samples(p, t).count, 0);
    assert_int_equal(kymo_profile_samples(p, 9).count, 0);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_sorts_and_keeps_columns_together),
        cmocka_unit_test(bad_samples_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
