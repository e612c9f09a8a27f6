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

static void evened_weights_keep_their_sum(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t t = add_thread(p, add_process(p, 1, 0), 1, 0);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 41; i++) {
        uint64_t weight = i % 3 == 0 ? 9000 : 10 + i;
        assert_int_equal(kymo_profile_add_sample(p, t, i, KYMO_NONE, weight,
                                                 i == 20 ? KYMO_SAMPLE_WALL : KYMO_SAMPLE_CPU, 0),
                         KYMO_OK);
        sum += i == 20 ? 0 : weight;
    }
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    kymo_sample_columns_even_out(&p->samples.data[t], KYMO_NONE, 16);
    kymo_samples s = kymo_profile_samples(p, t);
    uint64_t evened = 0;
    for (size_t i = 0; i < s.count; i++)
        evened += s.kind[i] == KYMO_SAMPLE_CPU ? s.weight_ns[i] : 0;
    assert_int_equal(evened, sum);
    assert_int_equal(s.weight_ns[20], 30); /* of another kind: as it was */
    for (size_t i = 1; i < 16; i++)
        assert_in_range(s.weight_ns[i], s.weight_ns[0] - 1, s.weight_ns[0]);
    for (size_t i = 17; i < 41; i++) /* 24 CPU samples: one run of them */
        if (i != 20)
            assert_in_range(s.weight_ns[i], s.weight_ns[16] - 1, s.weight_ns[16]);
    assert_true(s.weight_ns[0] != s.weight_ns[16]);

    uint32_t few = add_thread(p, 0, 2, 0);
    assert_int_equal(kymo_profile_add_sample(p, few, 1, KYMO_NONE, 5, KYMO_SAMPLE_CPU, 0), KYMO_OK);
    kymo_sample_columns_even_out(&p->samples.data[few], KYMO_NONE, 16);
    assert_int_equal(kymo_profile_samples(p, few).weight_ns[0], 5);

    /* Samples of one stack stay apart. */
    uint32_t frame, stack;
    uint32_t started = add_thread(p, 0, 3, 0);
    assert_int_equal(kymo_profile_add_frame(p, KYMO_NONE, 1, KYMO_CATEGORY_AUTO, &frame), KYMO_OK);
    assert_int_equal(kymo_profile_add_stack(p, KYMO_NONE, frame, &stack), KYMO_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(kymo_profile_add_sample(p, started, i, i ? KYMO_NONE : stack, 100 + 2 * i,
                                                 KYMO_SAMPLE_CPU, 0),
                         KYMO_OK);
    kymo_sample_columns_even_out(&p->samples.data[started], stack, 16);
    s = kymo_profile_samples(p, started);
    assert_int_equal(s.weight_ns[0], 100);
    assert_int_equal(s.weight_ns[1], 103);
    assert_int_equal(s.weight_ns[2], 103);
    kymo_profile_destroy(p);
}

static void scaled_weights_have_the_sum_that_is_asked_for(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t t = add_thread(p, add_process(p, 1, 0), 1, 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(kymo_profile_add_sample(p, t, i, KYMO_NONE, 1000 + i,
                                                 i == 20 ? KYMO_SAMPLE_WALL : KYMO_SAMPLE_CPU, 0),
                         KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    uint64_t before = 100 * 1000 + 99 * 100 / 2 - 1020;
    kymo_sample_columns_scale(&p->samples.data[t], KYMO_NONE, before, before - 777);
    kymo_samples s = kymo_profile_samples(p, t);
    uint64_t after = 0;
    for (uint64_t i = 0; i < s.count; i++) {
        if (i != 20)
            assert_in_range(s.weight_ns[i], 1000 + i - 9, 1000 + i);
        after += i == 20 ? 0 : s.weight_ns[i];
    }
    assert_int_equal(after, before - 777);
    assert_int_equal(s.weight_ns[20], 1020); /* of another kind: as it was */
    /* Of a file that lies: no weight comes out larger. */
    assert_int_equal(kymo_profile_add_sample(p, t, 200, KYMO_NONE, UINT64_MAX, KYMO_SAMPLE_CPU, 0),
                     KYMO_OK);
    kymo_sample_columns_scale(&p->samples.data[t], KYMO_NONE, UINT64_MAX, 5);
    s = kymo_profile_samples(p, t);
    for (uint64_t i = 0; i < s.count; i++)
        assert_true(i == 20 || s.weight_ns[i] <= 5);
    kymo_profile_destroy(p);
}

static void weights_that_are_not_known_share_a_sum(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t t = add_thread(p, add_process(p, 1, 0), 1, 0);
    const uint64_t given[] = {7, 0, 0, 9, 0};
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(
            kymo_profile_add_sample(p, t, 10 + i, KYMO_NONE, given[i], KYMO_SAMPLE_CPU, 0),
            KYMO_OK);
    assert_int_equal(kymo_profile_add_sample(p, t, 20, KYMO_NONE, 0, KYMO_SAMPLE_WALL, 0), KYMO_OK);
    kymo_sample_columns_share(&p->samples.data[t], 100);
    kymo_samples s = kymo_profile_samples(p, t);
    const uint64_t shared[] = {7, 34, 33, 9, 33, 0};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(s.weight_ns[i], shared[i]);
    kymo_sample_columns_share(&p->samples.data[t], 100); /* no sample is left to share it */
    assert_int_equal(s.weight_ns[1], 34);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_sorts_and_keeps_columns_together),
        cmocka_unit_test(bad_samples_are_refused),
        cmocka_unit_test(evened_weights_keep_their_sum),
        cmocka_unit_test(scaled_weights_have_the_sum_that_is_asked_for),
        cmocka_unit_test(weights_that_are_not_known_share_a_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
