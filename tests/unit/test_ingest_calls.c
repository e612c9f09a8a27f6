/* SPDX-License-Identifier: Apache-2.0 */
/* Traced calls become samples of self time. */
#include <stdio.h>
#include <string.h>

#include "ingest_fixture.h"
#include "kymo/trace_abi.h"
#include "profile/ingest_state.h"

enum { TEXT = 8192, NONE = KYMO_EVENT_NONE };

static void add_scripts(void)
{
    static const char *const names[] = {"main", "work", "leaf"};
    const kymo_event_handler *h = &kymo_ingest_handler;
    assert_int_equal(h->meta(ingest, &(kymo_event_meta){.start_ns = 1}), KYMO_OK);
    assert_int_equal(h->process(ingest, &(kymo_event_process){.pid = 1}), KYMO_OK);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.tid = 1}), KYMO_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(
            kymo_ingest_handler.script(
                ingest, &(kymo_event_script){0, i, i + 1, KYMO_EVENT_PYTHON, names[i], "a.py"}),
            KYMO_OK);
    assert_int_equal(
        kymo_ingest_handler.script(
            ingest, &(kymo_event_script){0, 3, 0, KYMO_EVENT_PYTHON_NATIVE, "builtins.len", ""}),
        KYMO_OK);
}

static void add(const kymo_event_call *calls, uint32_t count)
{
    assert_int_equal(kymo_ingest_handler.calls(ingest, &(kymo_event_calls){0, count, calls}),
                     KYMO_OK);
}

/* "time weight outermost;...;innermost" in a line for each sample of the thread. */
static const char *samples_text(kymo_sample_kind kind)
{
    static char text[TEXT];
    kymo_samples s = kymo_profile_samples(profile, 0);
    kymo_stacks stacks = kymo_profile_stacks(profile);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < s.count; i++) {
        char label[64], path[512] = "", longer[600];
        if (s.kind[i] != kind)
            continue;
        for (uint32_t at = s.stack[i]; at != KYMO_NONE; at = stacks.parent[at]) {
            snprintf(longer, sizeof longer, "%s%s%s",
                     kymo_profile_frame_label(profile, stacks.frame[at], label, sizeof label),
                     path[0] ? ";" : "", path);
            memcpy(path, longer, sizeof path);
        }
        used += (size_t)snprintf(text + used, TEXT - used, "%u %u %s\n", (unsigned)s.time_ns[i],
                                 (unsigned)s.weight_ns[i], path);
        assert_true(used < TEXT);
    }
    return text;
}

static void finish(uint64_t end_ns)
{
    assert_int_equal(kymo_ingest_handler.end(ingest, &(kymo_event_end){.end_ns = end_ns}), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
}

static void time_between_events_is_self_time(void **state)
{
    (void)state;
    static const kymo_event_call calls[] = {
        {1000, 0, 1, KYMO_TRACE_OPEN, 0},   {1100, 1, 2, KYMO_TRACE_CALL, 0},
        {1150, 3, 3, KYMO_TRACE_CALL, 0},   {1160, 3, 3, KYMO_TRACE_RETURN, 0},
        {1200, 1, 2, KYMO_TRACE_UNWIND, 0}, {1250, 1, 2, KYMO_TRACE_RESUME, 0},
        {1260, 1, 2, KYMO_TRACE_YIELD, 0},  {1300, 0, 1, KYMO_TRACE_RETURN, 0},
        {1500, 2, 1, KYMO_TRACE_CALL, 0},
    };
    add_scripts();
    add(calls, KYMO_ARRAY_LEN(calls));
    finish(1600);
    /* Outside of all calls there is nothing; what runs at the end runs to the end. */
    assert_string_equal(samples_text(KYMO_SAMPLE_TRACE), "1000 100 main\n"
                                                         "1100 50 main;work\n"
                                                         "1150 10 main;work;builtins.len\n"
                                                         "1160 40 main;work\n"
                                                         "1200 50 main\n"
                                                         "1250 10 main;work\n"
                                                         "1260 40 main\n"
                                                         "1500 100 leaf\n");
    assert_int_equal(kymo_profile_default_sample_type(profile), KYMO_SAMPLE_TRACE);
    /* What ran already and what goes on was not called. */
    assert_string_equal(samples_text(KYMO_SAMPLE_CALLS), "1100 1 main;work\n"
                                                         "1150 1 main;work;builtins.len\n"
                                                         "1500 1 leaf\n");
}

static void short_calls_are_their_callers_time(void **state)
{
    (void)state;
    static const kymo_event_call calls[] = {
        {1000, 0, 1, KYMO_TRACE_OPEN, 0},   {1100, 1, 2, KYMO_TRACE_CALL, 0},
        {1150, 3, 3, KYMO_TRACE_CALL, 0},   {1160, 3, 3, KYMO_TRACE_RETURN, 0},
        {1200, 1, 2, KYMO_TRACE_UNWIND, 0}, {1250, 1, 2, KYMO_TRACE_RESUME, 0},
        {1252, 2, 3, KYMO_TRACE_CALL, 0},   {1258, 2, 3, KYMO_TRACE_RETURN, 0},
        {1260, 1, 2, KYMO_TRACE_YIELD, 0},  {1300, 0, 1, KYMO_TRACE_RETURN, 0},
        {1310, 0, 1, KYMO_TRACE_CALL, 0},   {1320, 0, 1, KYMO_TRACE_RETURN, 0},
        {1590, 2, 1, KYMO_TRACE_CALL, 0}, /* how long it would take is not known */
    };
    kymo_ingest_shape_calls(ingest, 40, 0);
    add_scripts();
    add(calls, KYMO_ARRAY_LEN(calls));
    finish(1600);
    assert_string_equal(samples_text(KYMO_SAMPLE_TRACE), "1000 100 main\n"
                                                         "1100 50 main;work\n"
                                                         "1150 50 main;work\n"
                                                         "1200 50 main\n"
                                                         "1250 50 main\n"
                                                         "1590 10 leaf\n");
    assert_string_equal(samples_text(KYMO_SAMPLE_CALLS), "1100 1 main;work\n"
                                                         "1590 1 leaf\n");
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_int_equal(extra.note_count, 1);
    assert_string_equal(extra.notes[0].text, "4 traced calls shorter than 40 ns left out: "
                                             "their time is their callers'");
}

/* Of a ring or a segment only the end of such a call is known. */
static void open_calls_are_not_short(void **state)
{
    (void)state;
    static const kymo_event_call calls[] = {
        {1000, 0, 1, KYMO_TRACE_OPEN, 0},   {1000, 1, 2, KYMO_TRACE_OPEN, 0},
        {1010, 2, 3, KYMO_TRACE_CALL, 0},   {1015, 2, 3, KYMO_TRACE_RETURN, 0},
        {1020, 1, 2, KYMO_TRACE_RETURN, 0}, {1100, 0, 1, KYMO_TRACE_RETURN, 0},
    };
    kymo_ingest_shape_calls(ingest, 40, 0);
    add_scripts();
    add(calls, KYMO_ARRAY_LEN(calls));
    finish(1100);
    assert_string_equal(samples_text(KYMO_SAMPLE_TRACE), "1000 10 main;work\n"
                                                         "1010 10 main;work\n"
                                                         "1020 80 main\n");
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_string_equal(extra.notes[0].text, "1 traced call shorter than 40 ns left out: "
                                             "their time is their callers'");
}

/* Whatever is left out, each thread's times add up, and no gap is left out. */
static void times_add_up_without_short_calls(void **state)
{
    (void)state;
    uint64_t time_ns = 1000, random = 7, sum = 0, missing = 0;
    uint32_t depth = 1;
    add_scripts();
    kymo_ingest_shape_calls(ingest, 300, 1);
    add(&(kymo_event_call){time_ns, 0, 1, KYMO_TRACE_CALL, 0}, 1);
    for (uint32_t i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t draw = (uint32_t)(random >> 33);
        kymo_event_call e = {time_ns += draw % 200, draw % 3, depth, KYMO_TRACE_RETURN, 0};
        if (draw % 1000 == 0) {
            e = (kymo_event_call){time_ns, NONE, 0, KYMO_TRACE_GAP, 1};
            missing += draw % 200;
        } else if (depth < 2 || (depth < 40 && draw / 1000 % 2)) {
            e.kind = KYMO_TRACE_CALL;
            e.depth = ++depth;
        } else {
            depth--;
        }
        add(&e, 1);
    }
    finish(time_ns);
    kymo_samples s = kymo_profile_samples(profile, 0);
    kymo_stacks stacks = kymo_profile_stacks(profile);
    for (size_t i = 0; i < s.count; i++) {
        char label[64];
        if (s.kind[i] != KYMO_SAMPLE_TRACE)
            continue;
        sum += s.weight_ns[i];
        const char *name =
            kymo_profile_frame_label(profile, stacks.frame[s.stack[i]], label, sizeof label);
        missing -= strcmp(name, "[calls not recorded]") == 0 ? s.weight_ns[i] : 0;
    }
    assert_int_equal(sum, time_ns - 1000);
    assert_int_equal(missing, 0);
}

static void recursion_is_one_frame(void **state)
{
    (void)state;
    static const kymo_event_call calls[] = {
        {1000, 0, 1, KYMO_TRACE_CALL, 0},   {1010, 1, 2, KYMO_TRACE_CALL, 0},
        {1020, 1, 3, KYMO_TRACE_CALL, 0},   {1030, 2, 4, KYMO_TRACE_CALL, 0},
        {1040, 1, 5, KYMO_TRACE_CALL, 0},   {1050, 1, 5, KYMO_TRACE_RETURN, 0},
        {1060, 2, 4, KYMO_TRACE_RETURN, 0}, {1070, 1, 3, KYMO_TRACE_RETURN, 0},
        {1080, 1, 2, KYMO_TRACE_RETURN, 0}, {1090, 0, 1, KYMO_TRACE_RETURN, 0},
    };
    kymo_ingest_shape_calls(ingest, 0, 1);
    add_scripts();
    add(calls, KYMO_ARRAY_LEN(calls));
    finish(1100);
    assert_string_equal(samples_text(KYMO_SAMPLE_CALLS), "1000 1 main\n"
                                                         "1010 2 main;work\n"
                                                         "1030 1 main;work;leaf\n"
                                                         "1040 1 main;work;leaf;work\n");
}

static void what_is_missing_is_told_apart(void **state)
{
    (void)state;
    static const kymo_event_call calls[] = {
        {1000, 0, 5, KYMO_TRACE_RETURN, 0}, /* of nothing that was told of */
        {1000, 0, 1, KYMO_TRACE_CALL, 0},    {1010, NONE, 0, KYMO_TRACE_GAP, 3},
        {1030, 2, 4, KYMO_TRACE_CALL, 0}, /* two calls above it are missing */
        {1040, 2, 4, KYMO_TRACE_RETURN, 0},  {1050, NONE, 2, KYMO_TRACE_CALL, 0},
        {1055, 1, 9, KYMO_TRACE_RETURN, 0}, /* of a call that never came */
        {1060, 1, 1, KYMO_TRACE_CALL, 0},   /* so the first one has ended */
        {1050, 2, 2, KYMO_TRACE_CALL, 0},   /* a time that goes back */
        {1070, NONE, 0, KYMO_TRACE_STOP, 0}, {1090, 2, 2, KYMO_TRACE_RETURN, 0},
    };
    add_scripts();
    add(calls, KYMO_ARRAY_LEN(calls));
    finish(2000);
    assert_string_equal(samples_text(KYMO_SAMPLE_TRACE), "1000 10 main;[calls not recorded]\n"
                                                         "1010 20 main\n"
                                                         "1030 10 main;[calls not recorded];leaf\n"
                                                         "1040 10 main;[calls not recorded]\n"
                                                         "1050 5 main;[unknown function]\n"
                                                         "1055 5 main;[unknown function]\n"
                                                         "1060 10 work;leaf\n");
}

/* Whatever the depths are, memory is that of the events. */
static void absurd_depths_do_no_harm(void **state)
{
    (void)state;
    add_scripts();
    for (uint32_t i = 0; i < 1000; i++) {
        const kymo_event_call call = {1000 + i, i % 3, i * 0x9e3779b9u % KYMO_CALL_DEPTH_MAX, i % 8,
                                      i};
        add(&call, 1);
    }
    finish(3000);
    uint64_t sum = 0;
    kymo_samples s = kymo_profile_samples(profile, 0);
    for (size_t i = 0; i < s.count; i++)
        sum += s.kind[i] == KYMO_SAMPLE_TRACE ? s.weight_ns[i] : 0;
    assert_true(sum <= 2000);
}

/* Far more slices than rows: sums stay exact, by stack. */
static void windows_keep_sums(void **state)
{
    (void)state;
    enum { ROUNDS = 3000000, BATCH = 1000 };
    static kymo_event_call calls[2 * BATCH];
    uint64_t time_ns = 1000, inside_ns = 0, outside_ns = 0, sum[2] = {0, 0};
    add_scripts();
    kymo_ingest_expect_calls(ingest, 2 * ROUNDS + 1);
    add(&(kymo_event_call){time_ns, 0, 1, KYMO_TRACE_OPEN, 0}, 1);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t at = i % BATCH;
        calls[2 * at] = (kymo_event_call){time_ns += 3 + i % 5, 1, 2, KYMO_TRACE_CALL, 0};
        outside_ns += 3 + i % 5;
        calls[2 * at + 1] = (kymo_event_call){time_ns += 1 + i % 7, 1, 2, KYMO_TRACE_RETURN, 0};
        inside_ns += 1 + i % 7;
        if (at == BATCH - 1)
            add(calls, 2 * BATCH);
    }
    finish(time_ns);
    kymo_samples s = kymo_profile_samples(profile, 0);
    kymo_stacks stacks = kymo_profile_stacks(profile);
    assert_true(s.count < KYMO_CALLS_ROWS && s.count > 1000);
    uint64_t at_ns = 1000;
    for (size_t i = 0; i < s.count; i++) {
        if (s.kind[i] == KYMO_SAMPLE_CALLS) {
            assert_int_equal(s.weight_ns[i], ROUNDS);
            continue;
        }
        sum[stacks.parent[s.stack[i]] != KYMO_NONE] += s.weight_ns[i];
        assert_int_equal(s.time_ns[i], at_ns);
        at_ns += s.weight_ns[i];
    }
    assert_int_equal(sum[0], outside_ns);
    assert_int_equal(sum[1], inside_ns);
}

/* ---- the way for usual events ---- */

/* Mostly what is usual; depth is that of the call that runs. */
static kymo_event_call draw_event(uint64_t *random, uint64_t *time_ns, uint32_t open[64],
                                  uint32_t *depth)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint32_t draw = (uint32_t)(*random >> 33), what = draw / 1000 % 100;
    kymo_event_call e = { *time_ns += draw % 300, draw % 4, 1 + draw % 70, draw % 8, 0};
    if (what == 0) { /* anything */
        *depth = 0;
    } else if (what == 1 && *depth < 60) {
        e = (kymo_event_call){*time_ns - draw % 500, NONE, ++*depth, KYMO_TRACE_CALL, 0};
    } else if (*depth == 0 || (*depth < 60 && what % 2)) {
        e.kind = what % 10 == 3 ? KYMO_TRACE_RESUME : KYMO_TRACE_CALL;
        e.depth = ++*depth;
        open[*depth] = e.script;
    } else {
        e.kind = KYMO_TRACE_RETURN + draw % 3;
        e.script = open[*depth];
        e.depth = (*depth)--;
    }
    return e;
}

/* Sums by stack and type of samples, in one number. */
static uint64_t digest(void)
{
    kymo_samples s = kymo_profile_samples(profile, 0);
    kymo_stacks stacks = kymo_profile_stacks(profile);
    uint64_t sum = 0;
    for (size_t i = 0; i < s.count; i++) {
        uint64_t path = s.kind[i];
        for (uint32_t at = s.stack[i]; at != KYMO_NONE; at = stacks.parent[at])
            path = kymo_hash_mix(path, stacks.frame[at] + 1u);
        sum += path * s.weight_ns[i];
    }
    return sum;
}

/* Of 200000 events in batches; expected: as many as make windows, or none. */
static uint64_t digest_of(uint64_t expected, int folds, uint32_t batch)
{
    static kymo_event_call calls[200000];
    uint64_t random = 11, time_ns = 100000;
    uint32_t open[64], depth = 0, count = KYMO_ARRAY_LEN(calls);
    assert_int_equal(begin(NULL), 0);
    add_scripts();
    kymo_ingest_shape_calls(ingest, 0, folds);
    kymo_ingest_expect_calls(ingest, expected);
    for (uint32_t i = 0; i < count; i++)
        calls[i] = draw_event(&random, &time_ns, open, &depth);
    for (uint32_t i = 0; i < count; i += batch)
        add(calls + i, count - i < batch ? count - i : batch);
    finish(time_ns + 1);
    uint64_t sum = digest();
    (void)end(NULL);
    return sum;
}

static void windows_change_no_sum(void **state)
{
    (void)state;
    static const uint32_t batches[] = {1, 7, 1024, 200000};
    for (int folds = 0; folds < 2; folds++) {
        uint64_t alone = digest_of(0, folds, 1000);
        for (size_t i = 0; i < KYMO_ARRAY_LEN(batches); i++)
            assert_int_equal(digest_of(10000000, folds, batches[i]), alone);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(time_between_events_is_self_time),
        TEST(short_calls_are_their_callers_time),
        TEST(open_calls_are_not_short),
        TEST(times_add_up_without_short_calls),
        TEST(recursion_is_one_frame),
        TEST(what_is_missing_is_told_apart),
        TEST(absurd_depths_do_no_harm),
        TEST(windows_keep_sums),
        cmocka_unit_test(windows_change_no_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
