/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

#define TYPE(n, u)                                                 \
    {                                                              \
        .size = sizeof(kymo_sample_type), .name = (n), .unit = (u) \
    }

static kymo_profile *profile_of_allocations(uint32_t *thread)
{
    kymo_profile *p = new_profile();
    kymo_sample_type types[] = {TYPE("allocations", "count"), TYPE("allocated", "bytes")};
    types[1].is_default = 1;
    ok(kymo_profile_set_sample_types(p, types, 2, NULL));
    *thread = add_thread(p, add_process(p, 1, 0), 1, 0);
    return p;
}

static void a_new_profile_has_the_types_of_recordings(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(p, &count);
    assert_int_equal(count, KYMO_SAMPLE_KIND_COUNT);
    assert_string_equal(types[KYMO_SAMPLE_CPU].name, "cpu");
    assert_int_equal(types[KYMO_SAMPLE_WALL].adds, KYMO_ADDS_ELAPSED);
    assert_int_equal(kymo_profile_default_sample_type(p), KYMO_SAMPLE_CPU);
    kymo_profile_destroy(p);
}

static void a_program_sets_its_own(void **state)
{
    (void)state;
    uint32_t thread;
    uint32_t count;
    kymo_profile *p = profile_of_allocations(&thread);
    const kymo_sample_type *types = kymo_profile_sample_types(p, &count);
    assert_int_equal(count, 2);
    assert_string_equal(types[1].name, "allocated");
    assert_string_equal(types[1].period_name, "allocated");
    assert_string_equal(types[1].period_unit, "bytes");
    assert_null(types[1].count_name);
    assert_int_equal(kymo_profile_default_sample_type(p), 1);
    kymo_profile_destroy(p);
}

static void expect_refused(kymo_profile *p, const kymo_sample_type *types, uint32_t count,
                           uint64_t position, const char *message)
{
    kymo_error detail;
    assert_int_equal(kymo_profile_set_sample_types(p, types, count, &detail), KYMO_E_INVALID);
    assert_int_equal(detail.position, position);
    assert_string_equal(detail.message, message);
}

static void bad_types_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_sample_type types[] = {TYPE("a", "count"), TYPE("b", "count")};
    uint32_t count;
    expect_refused(p, types, 0, 0, "0 sample types: there are 1 to 64");
    types[1].name = "a";
    expect_refused(p, types, 2, 1,
                   "sample type 1 has the name of another one, or is a second default");
    types[1].name = "";
    expect_refused(p, types, 2, 1, "sample type 1 has no name or no unit");
    types[1].name = "b";
    types[1].adds = KYMO_ADDS_CPU_TIME;
    expect_refused(p, types, 2, 1, "sample type 1 is a time, and its unit is not nanoseconds");
    types[1].adds = KYMO_ADDS_COUNT;
    expect_refused(p, types, 2, 1, "sample type 1 has a wrong size or way to add up");
    assert_string_equal(kymo_profile_sample_types(p, &count)->name, "cpu");
    uint32_t thread = add_thread(p, add_process(p, 1, 0), 1, 0);
    ok(kymo_profile_add_sample(p, thread, 1, KYMO_NONE, 1, KYMO_SAMPLE_CPU, KYMO_STATE_UNKNOWN));
    expect_refused(p, types, 1, 0, "the profile has samples already");
    kymo_profile_destroy(p);
}

static void a_sample_has_a_value_of_each_type_or_one(void **state)
{
    (void)state;
    uint32_t thread;
    uint32_t set;
    kymo_profile *p = profile_of_allocations(&thread);
    const kymo_label label = {.key = add_string(p, "request"), .value = {.kind = KYMO_VALUE_U64}};
    ok(kymo_profile_add_label_set(p, &label, 1, &set));
    const uint64_t values[] = {3, 4096};
    kymo_sample sample = {.size = sizeof sample,
                          .thread = thread,
                          .time_ns = 7,
                          .stack = KYMO_NONE,
                          .labels = set,
                          .type = KYMO_SAMPLE_EACH,
                          .values = values,
                          .value_count = 2};
    ok(kymo_profile_add_sample_values(p, &sample, NULL));
    sample.type = 1;
    sample.value_count = 1;
    sample.labels = KYMO_NONE;
    ok(kymo_profile_add_sample_values(p, &sample, NULL));
    const uint64_t nothing = 0;
    sample.values = &nothing;
    ok(kymo_profile_add_sample_values(p, &sample, NULL));
    ok(kymo_profile_finish(p));
    kymo_samples s = kymo_profile_samples(p, thread);
    const uint32_t *labels = kymo_profile_sample_labels(p, thread);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.weight_ns[0], 3);
    assert_int_equal(s.kind[0], 0);
    assert_int_equal(s.weight_ns[1], 4096);
    assert_int_equal(s.kind[1], 1);
    assert_int_equal(s.weight_ns[2], 3);
    assert_int_equal(s.kind[2], 1);
    assert_int_equal(labels[0], set);
    assert_int_equal(labels[1], set);
    assert_int_equal(labels[2], KYMO_NONE);
    kymo_profile_destroy(p);
}

static void a_bad_sample_leaves_nothing(void **state)
{
    (void)state;
    uint32_t thread;
    kymo_profile *p = profile_of_allocations(&thread);
    const uint64_t values[] = {3, 4096};
    const kymo_sample good = {.size = sizeof good,
                              .thread = thread,
                              .stack = KYMO_NONE,
                              .labels = KYMO_NONE,
                              .type = KYMO_SAMPLE_EACH,
                              .values = values,
                              .value_count = 2};
    kymo_error detail;
    ok(kymo_profile_add_sample_values(p, &good, &detail));
#define REFUSED(at, text, ...)                                                              \
    do {                                                                                    \
        kymo_sample bad = good;                                                             \
        __VA_ARGS__;                                                                        \
        assert_int_equal(kymo_profile_add_sample_values(p, &bad, &detail), KYMO_E_INVALID); \
        assert_string_equal(detail.message, text);                                          \
        assert_int_equal(detail.position, at);                                              \
    } while (0)
    REFUSED(2, "thread 0, sample row 2: 1 values instead of 2", bad.value_count = 1);
    REFUSED(2, "thread 0, sample row 2: 2 values instead of 1", bad.type = 0);
    REFUSED(2, "thread 0, sample row 2: sample type 2 does not exist, there are 2", bad.type = 2);
    REFUSED(2, "thread 0, sample row 2: its stack, labels or state does not exist", bad.stack = 0);
    REFUSED(2, "thread 0, sample row 2: its stack, labels or state does not exist", bad.labels = 0);
    REFUSED(2, "thread 0, sample row 2: its stack, labels or state does not exist",
            bad.state = KYMO_STATE_COUNT);
    REFUSED(0, "thread 1 does not exist", bad.thread = 1);
#undef REFUSED
    assert_int_equal(kymo_profile_sample_count(p), 2);
    p->sample_count = KYMO_SAMPLES_MAX - 1;
    assert_int_equal(kymo_profile_add_sample_values(p, &good, &detail), KYMO_E_TOO_BIG);
    assert_int_equal(kymo_profile_samples(p, thread).count, 2);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_profile_has_the_types_of_recordings),
        cmocka_unit_test(a_program_sets_its_own),
        cmocka_unit_test(bad_types_are_refused),
        cmocka_unit_test(a_sample_has_a_value_of_each_type_or_one),
        cmocka_unit_test(a_bad_sample_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
