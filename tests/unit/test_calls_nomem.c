/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a program that builds a profile fails once. The call that it fails in says so
 * and leaves no sample and no marker; called again it works, and no time is lost.
 */
#include "failing_allocation.h"
#include "kymo/calls.h"
#include "profile_fixture.h"

static kymo_err first_error;

/* The value of a call; after KYMO_E_NOMEM, which comes once, of the same call again. */
#define TWICE(profile, call)                                                         \
    do {                                                                             \
        uint64_t samples_ = kymo_profile_sample_count(profile);                      \
        uint32_t markers_ = kymo_profile_count(profile, KYMO_TABLE_MARKERS);         \
        kymo_err err_ = (call);                                                      \
        if (err_ == KYMO_OK)                                                         \
            break;                                                                   \
        first_error = err_;                                                          \
        assert_int_equal(kymo_profile_sample_count(profile), samples_);              \
        assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_MARKERS), markers_); \
        ok(call);                                                                    \
    } while (0)

enum { ROUNDS = 40 }; /* the columns of samples grow twice */

static void trace(kymo_profile *p, uint32_t thread, uint32_t function)
{
    kymo_calls *calls = NULL;
    uint64_t now = 100;
    TWICE(p, kymo_calls_create(p, 1, &calls));
    TWICE(p, kymo_calls_register(calls, thread, now, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        now += 3;
        TWICE(p, kymo_calls_enter(calls, thread, now, function, NULL));
        now += 2;
        TWICE(p, kymo_calls_exception(calls, thread, now, "KeyError", "text", NULL));
        if (i % 2) {
            now += 1;
            TWICE(p, kymo_calls_leave(calls, thread, now, function, NULL));
        }
    }
    now += 5;
    TWICE(p, kymo_calls_finish(calls, thread, now, NULL));
    kymo_calls_destroy(calls);
    kymo_samples s = kymo_profile_samples(p, thread);
    uint64_t sum = 0;
    for (size_t i = 0; i < s.count; i++)
        sum += s.kind[i] == 1 ? s.weight_ns[i] : 0;
    assert_int_equal(sum, now - 100);
    assert_int_equal(kymo_profile_markers(p, thread).count, ROUNDS);
}

static void add_samples(kymo_profile *p, uint32_t thread, uint32_t process, uint32_t labels)
{
    const uint64_t addresses[] = {1, 2, 3};
    const uint64_t values[] = {1, 1};
    kymo_sample sample = {.size = sizeof sample,
                          .thread = thread,
                          .type = KYMO_SAMPLE_EACH,
                          .labels = labels,
                          .values = values,
                          .value_count = 2};
    TWICE(p, kymo_profile_add_address_stack(p, process, addresses, 3, &sample.stack));
    for (int i = 0; i < ROUNDS; i++)
        TWICE(p, kymo_profile_add_sample_values(p, &sample, NULL));
    assert_int_equal(kymo_profile_samples(p, thread).count, 2 * ROUNDS);
}

static kymo_err build(void *context)
{
    (void)context;
    const kymo_sample_type types[] = {
        {.size = sizeof *types, .name = "calls", .unit = "count", .count_name = "samples"},
        {.size = sizeof *types, .adds = KYMO_ADDS_ELAPSED, .name = "wall", .unit = "nanoseconds"}};
    const kymo_process process = {.size = sizeof process, .pid = 1, .name = "p"};
    kymo_thread row = {.size = sizeof row, .tid = 1, .name = "t"};
    kymo_function function = {.source = KYMO_NONE, .module = KYMO_NONE};
    kymo_label label = {.value = {.kind = KYMO_VALUE_U64}};
    kymo_profile *p;
    uint32_t traced, sampled, f, labels, count;
    first_error = KYMO_OK;
    kymo_err err = kymo_profile_create(&p);
    if (err != KYMO_OK)
        return err;
    TWICE(p, kymo_profile_set_sample_types(p, types, 2, NULL));
    kymo_profile_sample_types(p, &count);
    assert_int_equal(count, 2);
    TWICE(p, kymo_profile_add_process(p, &process, &row.process));
    TWICE(p, kymo_profile_add_thread(p, &row, &traced));
    row.tid = 2;
    TWICE(p, kymo_profile_add_thread(p, &row, &sampled));
    TWICE(p, kymo_profile_add_string(p, "f", 1, &function.name));
    TWICE(p, kymo_profile_add_function(p, &function, &f));
    label.key = function.name;
    TWICE(p, kymo_profile_add_label_set(p, &label, 1, &labels));
    trace(p, traced, f);
    add_samples(p, sampled, row.process, labels);
    kymo_profile_destroy(p);
    return first_error;
}

static void each_allocation_of_a_builder(void **state)
{
    (void)state;
    assert_in_range(fail_each_allocation(build, NULL), 50, 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_of_a_builder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
