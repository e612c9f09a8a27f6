/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of markers, samples of elapsed time and counters in a Chrome trace. Rules of the
 * format are checked by tools/check-profile, the whole by golden.chrome.
 */
#include "encode/encoder.h"
#include "kymo/marker_abi.h"
#include "profile_fixture.h"

static kymo_profile *profile;
static uint32_t process, thread;
static kymo_bytes out;

static int setup(void **state)
{
    profile = new_profile();
    kymo_meta meta = {.size = sizeof meta, .end_ns = 1000000};
    ok(kymo_profile_set_meta(profile, &meta));
    process = add_process(profile, 7, 0);
    thread = add_thread(profile, process, 7, 0);
    kymo_bytes_init(&out, 1 << 20);
    *state = profile;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_bytes_deinit(&out);
    kymo_profile_destroy(profile);
    return 0;
}

static void encode(void)
{
    ok(kymo_profile_finish(profile));
    ok(kymo_encode(profile, kymo_format_for_path("x.trace.json"), &out.sink, NULL, NULL));
    ok(kymo_bytes_append(&out, "", 1));
}

static int count_of(const char *part)
{
    int count = 0;
    for (const char *at = (const char *)out.data; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void assert_has(const char *part)
{
    if (count_of(part) != 1)
        fail_msg("%d times %s in %s", count_of(part), part, (const char *)out.data);
}

static void add_interval(const char *name, uint64_t start_ns, uint64_t end_ns, const char *track)
{
    kymo_marker m = {.start_ns = start_ns,
                     .end_ns = end_ns,
                     .thread = thread,
                     .name = add_string(profile, name),
                     .category = KYMO_NONE,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .track = track ? add_string(profile, track) : 0,
                     .phase = KYMO_MARKER_INTERVAL};
    ok(kymo_profile_add_marker(profile, &m, NULL));
}

/* inner lies in outer; late begins in outer and ends behind it; next begins where outer ends. */
static void intervals_that_do_not_nest_are_pairs(void **state)
{
    (void)state;
    add_interval("outer", 1000, 5000, NULL);
    add_interval("inner", 2000, 5000, NULL);
    add_interval("late", 4000, 6000, NULL);
    add_interval("next", 5000, 7000, NULL);
    add_interval("elsewhere", 1000, 2000, "track");
    encode();
    assert_has("{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":1,\"name\":\"outer\",\"cat\":\"marker\","
               "\"dur\":4,\"args\":{}}");
    assert_has("\"name\":\"inner\",\"cat\":\"marker\",\"dur\":3");
    assert_has("\"ph\":\"b\",\"pid\":7,\"tid\":7,\"ts\":4,\"name\":\"late\"");
    assert_has("\"ph\":\"e\",\"pid\":7,\"tid\":7,\"ts\":6,\"name\":\"late\"");
    assert_has("\"name\":\"next\",\"cat\":\"marker\",\"dur\":2");
    assert_int_equal(count_of("\"name\":\"track\""), 2);
}

static uint32_t frame_of(const char *name)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(profile, add_function(profile, name, KYMO_NONE),
                                    KYMO_CATEGORY_PROGRAM, &frame));
    return frame;
}

/* main goes on while f becomes g, and ends where time is missing. */
static void samples_that_follow_each_other_are_one_call(void **state)
{
    (void)state;
    uint32_t in_main = add_stack(profile, KYMO_NONE, frame_of("main"));
    uint32_t in_f = add_stack(profile, in_main, frame_of("f"));
    uint32_t in_g = add_stack(profile, in_main, frame_of("g"));
#define ADD(time, stack, weight) \
    ok(kymo_profile_add_sample(profile, thread, time, stack, weight, KYMO_SAMPLE_WALL, 0))
    ADD(10000, in_f, 1000);
    ADD(11000, in_f, 1000);
    ADD(12000, in_g, 2000);
    ADD(20000, in_main, 500);
    ADD(20200, in_g, 100); /* earlier than the one before said */
#undef ADD
    ok(kymo_profile_add_sample(profile, thread, 10000, in_g, 777, KYMO_SAMPLE_CPU, 0));
    encode();
    assert_int_equal(count_of("\"ph\":\"X\""), 5);
    assert_has("\"ts\":10,\"name\":\"f\",\"cat\":\"calls\",\"dur\":2}");
    assert_has("\"ts\":12,\"name\":\"g\",\"cat\":\"calls\",\"dur\":2}");
    assert_has("\"ts\":10,\"name\":\"main\",\"cat\":\"calls\",\"dur\":4}");
    assert_has("\"ts\":20.2,\"name\":\"g\",\"cat\":\"calls\",\"dur\":0.1}");
    assert_has("\"ts\":20,\"name\":\"main\",\"cat\":\"calls\",\"dur\":0.3}");
    assert_int_equal(count_of("\"thread_name\""), 2);
}

/* Before and after exec. */
static void processes_of_one_pid_are_told_apart(void **state)
{
    (void)state;
    uint32_t other = add_process(profile, 7, 100);
    (void)add_thread(profile, other, 7, 100);
    encode();
    assert_int_equal(count_of("\"pid\":7,"), 2);
    assert_int_equal(count_of("\"pid\":8388615,"), 2);
}

static void counters_have_their_values(void **state)
{
    (void)state;
    uint32_t id;
    kymo_counter c = {.size = sizeof c,
                      .process = process,
                      .category = KYMO_NONE,
                      .name = add_string(profile, "depth"),
                      .unit = add_string(profile, "bytes")};
    ok(kymo_profile_add_counter(profile, &c, &id));
    ok(kymo_profile_add_count(profile, id, 3000, -5, 0));
    encode();
    assert_has(
        "{\"ph\":\"C\",\"pid\":7,\"tid\":0,\"ts\":3,\"name\":\"depth\",\"args\":{\"bytes\":-5}}");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(intervals_that_do_not_nest_are_pairs),
        T(samples_that_follow_each_other_are_one_call),
        T(processes_of_one_pid_are_told_apart),
        T(counters_have_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
