/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/calls.h"
#include "profile_fixture.h"

static kymo_profile *profile;
static kymo_calls *calls;
static kymo_error detail;
static uint32_t thread, f, g;

static int setup(void **state)
{
    (void)state;
    const kymo_sample_type wall = {
        .size = sizeof wall, .adds = KYMO_ADDS_ELAPSED, .name = "wall", .unit = "nanoseconds"};
    profile = new_profile();
    ok(kymo_profile_set_sample_types(profile, &wall, 1, NULL));
    thread = add_thread(profile, add_process(profile, 1, 0), 1, 0);
    f = add_function(profile, "f", KYMO_NONE);
    g = add_function(profile, "g", KYMO_NONE);
    ok(kymo_calls_create(profile, KYMO_SAMPLE_DEFAULT, &calls));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_calls_destroy(calls);
    kymo_profile_destroy(profile);
    return 0;
}

/* "f;g": names of one letter, the outermost first. */
static const char *stack_text(uint32_t stack)
{
    static char text[32];
    kymo_stacks s = kymo_profile_stacks(profile);
    char *at = text + sizeof text - 1;
    for (; stack != KYMO_NONE; stack = s.parent[stack]) {
        char name[2];
        if (*at)
            *--at = ';';
        *--at = *kymo_profile_frame_label(profile, s.frame[stack], name, sizeof name);
    }
    return at;
}

static void expect_sample(size_t i, uint64_t time_ns, uint64_t weight_ns, const char *stack)
{
    kymo_samples s = kymo_profile_samples(profile, thread);
    assert_true(i < s.count);
    assert_int_equal(s.time_ns[i], time_ns);
    assert_int_equal(s.weight_ns[i], weight_ns);
    assert_string_equal(stack_text(s.stack[i]), stack);
}

static void each_interval_is_a_sample_of_what_ran(void **state)
{
    (void)state;
    uint64_t sum = 0;
    ok(kymo_calls_register(calls, thread, 10, NULL));
    ok(kymo_calls_enter(calls, thread, 15, f, NULL));
    ok(kymo_calls_enter(calls, thread, 17, g, NULL));
    ok(kymo_calls_enter(calls, thread, 20, g, NULL)); /* recursion */
    ok(kymo_calls_leave(calls, thread, 24, g, NULL));
    ok(kymo_calls_leave(calls, thread, 24, g, NULL)); /* no time between them */
    ok(kymo_calls_leave(calls, thread, 30, f, NULL));
    ok(kymo_calls_finish(calls, thread, 37, NULL));
    ok(kymo_profile_finish(profile));
    kymo_samples s = kymo_profile_samples(profile, thread);
    assert_int_equal(s.count, 6);
    expect_sample(0, 10, 5, "");
    expect_sample(1, 15, 2, "f");
    expect_sample(2, 17, 3, "f;g");
    expect_sample(3, 20, 4, "f;g;g");
    expect_sample(4, 24, 6, "f");
    expect_sample(5, 30, 7, "");
    for (size_t i = 0; i < s.count; i++)
        sum += s.weight_ns[i];
    assert_int_equal(sum, 37 - 10);
}

static void threads_have_times_of_their_own(void **state)
{
    (void)state;
    uint32_t other = add_thread(profile, 0, 2, 0);
    ok(kymo_calls_register(calls, thread, 10, NULL));
    ok(kymo_calls_register(calls, other, 5, NULL));
    ok(kymo_calls_enter(calls, thread, 20, f, NULL));
    ok(kymo_calls_enter(calls, other, 6, g, NULL));
    ok(kymo_calls_finish(calls, other, 9, NULL)); /* in g */
    ok(kymo_calls_finish(calls, thread, 21, NULL));
    kymo_samples s = kymo_profile_samples(profile, other);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.weight_ns[1], 3);
    assert_string_equal(stack_text(s.stack[1]), "g");
    expect_sample(1, 20, 1, "f");
}

static void an_exception_is_a_marker_and_an_event(void **state)
{
    (void)state;
    ok(kymo_calls_register(calls, thread, 10, NULL));
    ok(kymo_calls_enter(calls, thread, 10, f, NULL));
    ok(kymo_calls_exception(calls, thread, 13, "KeyError", "x", NULL));
    ok(kymo_calls_exception(calls, thread, 14, "KeyError", NULL, NULL));
    ok(kymo_calls_leave(calls, thread, 18, f, NULL));
    ok(kymo_calls_finish(calls, thread, 18, NULL));
    expect_sample(0, 10, 3, "f");
    expect_sample(1, 13, 1, "f");
    expect_sample(2, 14, 4, "f");
    kymo_markers m = kymo_profile_markers(profile, thread);
    assert_int_equal(m.count, 2);
    assert_int_equal(m.rows[0].start_ns, 13);
    assert_int_equal(m.rows[0].phase, KYMO_MARKER_INSTANT);
    assert_string_equal(stack_text(m.rows[0].stack), "f");
    assert_string_equal(kymo_profile_string(profile, m.rows[0].name), "KeyError");
    const kymo_value *value = kymo_profile_values(profile, m.rows[0].first_value, 1);
    assert_string_equal(kymo_profile_string(profile, value->as.string), "x");
    assert_int_equal(m.rows[0].schema, m.rows[1].schema);
}

#define REFUSED(error, number, text, call)                            \
    do {                                                              \
        uint64_t before = kymo_profile_sample_count(profile);         \
        assert_int_equal(call, error);                                \
        assert_int_equal(detail.code, error);                         \
        assert_int_equal(detail.position, number);                    \
        assert_string_equal(detail.message, text);                    \
        assert_int_equal(kymo_profile_sample_count(profile), before); \
    } while (0)

static void errors_say_where_and_leave_nothing(void **state)
{
    (void)state;
    REFUSED(KYMO_E_INVALID, 1, "event 1, thread 0: it is not registered",
            kymo_calls_enter(calls, thread, 1, f, &detail));
    REFUSED(KYMO_E_INVALID, 1, "event 1, thread 7: the profile does not have it",
            kymo_calls_register(calls, 7, 1, &detail));
    ok(kymo_calls_register(calls, thread, 10, &detail));
    REFUSED(KYMO_E_EXISTS, 2, "event 2, thread 0: it is registered already",
            kymo_calls_register(calls, thread, 11, &detail));
    REFUSED(KYMO_E_INVALID, 2, "event 2, thread 0: it leaves a function, and is in none",
            kymo_calls_leave(calls, thread, 12, f, &detail));
    REFUSED(KYMO_E_INVALID, 2, "event 2, thread 0: it enters a function that does not exist",
            kymo_calls_enter(calls, thread, 12, 99, &detail));
    ok(kymo_calls_enter(calls, thread, 12, f, &detail));
    REFUSED(KYMO_E_RANGE, 3, "event 3, thread 0: time 11 is before that of its last event, 12",
            kymo_calls_enter(calls, thread, 11, g, &detail));
    REFUSED(KYMO_E_RANGE, 3, "event 3, thread 0: time 11 is before that of its last event, 12",
            kymo_calls_exception(calls, thread, 11, "E", NULL, &detail));
    REFUSED(KYMO_E_RANGE, 3, "event 3, thread 0: time 11 is before that of its last event, 12",
            kymo_calls_finish(calls, thread, 11, &detail));
    REFUSED(KYMO_E_MISMATCH, 3, "event 3, thread 0: it leaves g, and is in f",
            kymo_calls_leave(calls, thread, 13, g, &detail));
    REFUSED(KYMO_E_INVALID, 3, "event 3, thread 0: it leaves a function that does not exist",
            kymo_calls_leave(calls, thread, 13, 99, &detail));
    assert_int_equal(kymo_profile_markers(profile, thread).count, 0);
    /* The stream goes on as if these had not come. */
    ok(kymo_calls_leave(calls, thread, 14, f, &detail));
    ok(kymo_calls_finish(calls, thread, 14, &detail));
    expect_sample(0, 10, 2, "");
    expect_sample(1, 12, 2, "f");
    assert_int_equal(kymo_profile_sample_count(profile), 2);
    REFUSED(KYMO_E_INVALID, 5, "event 5, thread 0: it has finished",
            kymo_calls_enter(calls, thread, 15, f, &detail));
    profile->sample_count = KYMO_SAMPLES_MAX;
    uint32_t other = add_thread(profile, 0, 2, 0);
    ok(kymo_calls_register(calls, other, 1, &detail));
    REFUSED(KYMO_E_TOO_BIG, 6, "event 6, thread 1: larger than the limit",
            kymo_calls_exception(calls, other, 2, "E", NULL, &detail));
    assert_int_equal(kymo_profile_markers(profile, other).count, 0);
}

static void samples_are_of_elapsed_time(void **state)
{
    (void)state;
    kymo_calls *none = NULL;
    kymo_profile *recorded = new_profile();
    assert_int_equal(kymo_calls_create(recorded, KYMO_SAMPLE_DEFAULT, &none), KYMO_E_INVALID);
    assert_int_equal(kymo_calls_create(recorded, KYMO_SAMPLE_KIND_COUNT, &none), KYMO_E_INVALID);
    assert_null(none);
    ok(kymo_calls_create(recorded, KYMO_SAMPLE_WALL, &none));
    kymo_calls_destroy(none);
    kymo_calls_destroy(NULL);
    kymo_profile_destroy(recorded);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_interval_is_a_sample_of_what_ran), TEST(threads_have_times_of_their_own),
        TEST(an_exception_is_a_marker_and_an_event), TEST(errors_say_where_and_leave_nothing),
        TEST(samples_are_of_elapsed_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
