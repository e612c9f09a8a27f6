/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall samples beside CPU samples in each format. Thread 1 runs in f for 1 ms, waits in g for 8 ms
 * and runs again; wall samples found it running once.
 */
#include "encode/encoder.h"
#include "profile_fixture.h"

static kymo_profile *profile;

static uint32_t add_named(const char *name, kymo_category category)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(profile, add_function(profile, name, KYMO_NONE), category,
                                    &frame));
    return frame;
}

static int setup(void **state)
{
    profile = new_profile();
    kymo_meta meta = {
        .size = sizeof meta, .end_ns = 20000000, .period_ns = 1000000, .wall_period_ns = 10000000};
    ok(kymo_profile_set_meta(profile, &meta));
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1000), 1, 1000);
    uint32_t f = add_stack(profile, KYMO_NONE, add_named("f", KYMO_CATEGORY_PROGRAM));
    uint32_t g = add_stack(profile, f, add_named("g", KYMO_CATEGORY_PROGRAM));
    uint32_t wait = add_stack(profile, g, add_named("[waiting: read]", KYMO_CATEGORY_WAITING));
#define ADD(time, stack, weight, kind, st) \
    ok(kymo_profile_add_sample(profile, thread, time, stack, weight, kind, st))
    ADD(1000000, f, 1000000, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING);
    ADD(1000000, f, 1000000, KYMO_SAMPLE_WALL, KYMO_STATE_RUNNING);
    ADD(2000000, wait, 8000000, KYMO_SAMPLE_WALL, KYMO_STATE_SLEEPING);
    ADD(11000000, f, 1000000, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING);
#undef ADD
    ok(kymo_profile_finish(profile));
    *state = profile;
    return 0;
}

static void encode_as(const char *name, kymo_sample_kind kind, kymo_bytes *out)
{
    kymo_encode_options options = {.size = sizeof options, .kind = kind};
    kymo_bytes_init(out, 1 << 20);
    ok(kymo_encode(profile, kymo_format_for_path(name), &out->sink, &options, NULL));
    ok(kymo_bytes_append(out, "", 1));
}

static void assert_has(const kymo_bytes *text, const char *part)
{
    if (!strstr((const char *)text->data, part))
        fail_msg("no %s in %s", part, (const char *)text->data);
}

static void firefox_shows_running_by_cpu_samples_and_waiting_by_wall_samples(void **state)
{
    (void)state;
    kymo_bytes out;
    encode_as("x.json", KYMO_SAMPLE_CPU, &out);
    /* The anchor, a CPU sample, the wait and its end, a CPU sample. */
    assert_has(&out, "\"weight\":[0,1,8,0,1]");
    assert_has(&out, "\"threadCPUDelta\":[0,1000000,0,0,1000000]");
    assert_has(&out, "\"stack\":[null,0,2,2,0]");
    assert_has(&out, "\"timeDeltas\":[0.001,0.999,1,8,1]");
    kymo_bytes_deinit(&out);
}

/* The first row that is written may not be the first sample: that of a running thread is left out.
 */
static void the_first_cpu_time_of_a_thread_is_not_lost(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t thread = add_thread(profile, 0, 2, 3000000);
    ok(kymo_profile_add_sample(profile, thread, 3000000, 0, 1000000, KYMO_SAMPLE_WALL,
                               KYMO_STATE_RUNNING));
    ok(kymo_profile_add_sample(profile, thread, 4000000, 0, 900000, KYMO_SAMPLE_CPU,
                               KYMO_STATE_RUNNING));
    /* And one whose only sample is of the moment when it began. */
    uint32_t late = add_thread(profile, 0, 3, 5000000);
    ok(kymo_profile_add_sample(profile, late, 5000000, 0, 700000, KYMO_SAMPLE_CPU,
                               KYMO_STATE_RUNNING));
    ok(kymo_profile_finish(profile));
    encode_as("x.json", KYMO_SAMPLE_CPU, &out);
    assert_has(&out, "\"threadCPUDelta\":[0,900000]");
    assert_has(&out, "\"timeDeltas\":[3,1]");
    assert_has(&out, "\"threadCPUDelta\":[0,700000]");
    assert_has(&out, "\"timeDeltas\":[5,0]");
    kymo_bytes_deinit(&out);
}

static void a_thread_without_samples_has_no_cpu_time(void **state)
{
    (void)state;
    kymo_bytes out;
    add_thread(profile, 0, 4, 6000000);
    ok(kymo_profile_finish(profile));
    encode_as("x.json", KYMO_SAMPLE_CPU, &out);
    assert_has(&out, "\"samples\":{\"stack\":[],\"timeDeltas\":[],\"weight\":[],"
                     "\"weightType\":\"tracing-ms\",\"length\":0}");
    kymo_bytes_deinit(&out);
}

static uint32_t add_traced(int32_t tid, uint64_t start_ns, uint64_t end_ns, uint64_t cpu_ns)
{
    uint32_t thread = add_thread(profile, 0, tid, start_ns);
    kymo_thread t = *kymo_profile_thread(profile, thread);
    t.end_ns = end_ns;
    t.cpu_ns = cpu_ns;
    ok(kymo_profile_update_thread(profile, thread, &t));
    return thread;
}

static void add_call(uint32_t thread, uint64_t time_ns, uint64_t weight_ns)
{
    ok(kymo_profile_add_sample(profile, thread, time_ns, 0, weight_ns, KYMO_SAMPLE_TRACE,
                               KYMO_STATE_RUNNING));
}

/* Their rows are calls. CPU time beyond the samples is known from the threads' clocks. */
static void a_traced_thread_has_cpu_time_without_a_sample(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_profile_add_trace_types(profile);
    uint32_t brief = add_traced(5, 10000000, 10400000, 200000);
    add_call(brief, 10100000, 100000);
    add_call(brief, 10200000, 100000);
    add_call(brief, 10300000, 100000);
    /* From the begin, not from the recording's, and from the sample to the end. */
    uint32_t longer = add_traced(6, 12000000, 14000000, 1300000);
    add_call(longer, 12500000, 500000);
    ok(kymo_profile_add_sample(profile, longer, 13000000, 0, 1000000, KYMO_SAMPLE_CPU,
                               KYMO_STATE_RUNNING));
    add_call(longer, 13000000, 500000);
    add_call(longer, 13500000, 500000);
    /* Samples are missing: a thread uses no more than the time that there is. */
    uint32_t sparse = add_traced(7, 15000000, 15400000, 90000000);
    add_call(sparse, 15200000, 200000);
    ok(kymo_profile_finish(profile));
    encode_as("x.json", KYMO_SAMPLE_DEFAULT, &out);
    assert_has(&out, "\"threadCPUDelta\":[0,50000,50000,50000,50000]");
    assert_has(&out, "\"threadCPUDelta\":[0,500000,500000,150000,150000]");
    assert_has(&out, "\"threadCPUDelta\":[0,200000,200000]");
    kymo_bytes_deinit(&out);
}

static void collapsed_shows_the_kind_that_is_asked_for(void **state)
{
    (void)state;
    kymo_bytes out;
    encode_as("x.folded", KYMO_SAMPLE_CPU, &out);
    assert_string_equal((const char *)out.data, "pid 1;thread 1;f 2000000\n");
    kymo_bytes_deinit(&out);
    encode_as("x.folded", KYMO_SAMPLE_WALL, &out);
    assert_has(&out, "pid 1;thread 1;f;g;[waiting: read] 8000000\n");
    assert_has(&out, "pid 1;thread 1;f 1000000\n");
    kymo_bytes_deinit(&out);
}

static void kinds_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_encode_options options = {.size = sizeof options, .kind = KYMO_SAMPLE_KIND_COUNT};
    kymo_bytes_init(&out, 1 << 20);
    assert_int_equal(
        kymo_encode(profile, kymo_format_for_path("x.folded"), &out.sink, &options, NULL),
        KYMO_E_INVALID);
    kymo_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(firefox_shows_running_by_cpu_samples_and_waiting_by_wall_samples),
        cmocka_unit_test(collapsed_shows_the_kind_that_is_asked_for),
        cmocka_unit_test(kinds_that_do_not_exist_are_refused),
        cmocka_unit_test(the_first_cpu_time_of_a_thread_is_not_lost),
        cmocka_unit_test(a_thread_without_samples_has_no_cpu_time),
        cmocka_unit_test(a_traced_thread_has_cpu_time_without_a_sample),
    };
    return cmocka_run_group_tests(tests, setup, destroy_profile);
}
