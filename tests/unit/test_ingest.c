/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "recording/sample_recording.h"

static void ingest_sample(void)
{
    assert_int_equal(sample_recording_emit(&kymo_ingest_handler, ingest), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
}

static kymo_err meta_by_perf(void *ctx, const kymo_event_meta *event)
{
    kymo_event_meta meta = *event;
    meta.engine = "perf";
    return kymo_ingest_handler.meta(ctx, &meta);
}

/* The same recording, taken by an engine whose weights belong where they are. */
static void ingest_sample_by_perf(void)
{
    kymo_event_handler handler = kymo_ingest_handler;
    handler.meta = meta_by_perf;
    assert_int_equal(sample_recording_emit(&handler, ingest), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
}

/* A stack, innermost first: "module+address" or a label, ";" between. */
static void stack_text(uint32_t stack, kymo_str *s)
{
    kymo_stacks stacks = kymo_profile_stacks(profile);
    char label[128];
    for (; stack != KYMO_NONE; stack = stacks.parent[stack]) {
        assert_true(stack < stacks.count);
        kymo_str_printf(
            s, "%s%s", s->len ? ";" : "",
            kymo_profile_frame_label(profile, stacks.frame[stack], label, sizeof label));
    }
}

static void assert_stack(uint32_t thread, size_t sample, const char *expected)
{
    kymo_str s = {0};
    kymo_samples samples = kymo_profile_samples(profile, thread);
    assert_true(sample < samples.count);
    stack_text(samples.stack[sample], &s);
    assert_string_equal(kymo_str_cstr(&s), expected);
    kymo_str_deinit(&s);
}

static void who_ran_where(void **state)
{
    (void)state;
    ingest_sample();
    const kymo_meta *meta = kymo_profile_meta(profile);
    assert_int_equal(meta->origin_monotonic_ns, 1001000000); /* the program's start */
    assert_int_equal(meta->origin_realtime_ns, 1700000000001000000);
    assert_int_equal(meta->start_ns, 1000000000);
    assert_int_equal(meta->end_ns, 2000000000);
    assert_int_equal(meta->period_ns, 1000000);
    assert_int_equal(meta->logical_cpus, 8);
    assert_int_equal(meta->argc, 4);
    assert_string_equal(meta->argv[2], "caf\xc3\xa9");
    assert_string_equal(meta->hostname, "box");
    assert_string_equal(meta->engine, "timer");
    const kymo_process *p = kymo_profile_process(profile, 0);
    assert_string_equal(p->name, "demo");
    assert_int_equal(p->pid, 100);
    assert_int_equal(p->is_main, 1);
    assert_int_equal(p->exit_status, 3 << 8);
    assert_int_equal(p->cpu_ns, 5257900000);
    assert_int_equal(p->end_ns, 1850000000);
    p = kymo_profile_process(profile, 1);
    assert_int_equal(p->parent_pid, 100);
    assert_int_equal(p->exit_status, -1);
    assert_int_equal(p->end_ns, 0);
    const kymo_thread *t = kymo_profile_thread(profile, 1);
    assert_string_equal(t->name, "pool/1");
    assert_int_equal(t->tid, 101);
    assert_int_equal(t->start_ns, 1002000000);
    assert_int_equal(t->end_ns, 1700000000);
    assert_int_equal(t->cpu_ns, 5252100000);
    assert_int_equal(kymo_profile_thread(profile, 3)->cpu_ns, 1000000); /* its weights */
    const kymo_module *m = kymo_profile_module(profile, 1);
    assert_string_equal(m->path, "/lib/libc.so.6");
    assert_string_equal(m->arch, "x86_64");
    assert_int_equal(m->load_bias, 0x7f0000000000);
    assert_int_equal(m->build_id_len, 8);
    assert_int_equal(m->build_id[0], 0xde);
    assert_int_equal(m->unload_ns, 1900000000);
}

static void stacks_begin_where_they_begin(void **state)
{
    (void)state;
    ingest_sample();
    /* Return addresses are looked up one byte before; others where they are. */
    assert_stack(0, 0, "demo+0x401200;demo+0x401300;libc.so.6+0x26fff;demo+0x401050");
    /* Below a signal frame the interrupted place is exact. Sorted by time: stack 1, then 2. */
    assert_stack(0, 1, "demo+0x401250;demo+0x401300;libc.so.6+0x26fff;demo+0x401050");
    assert_stack(0, 2,
                 "[vdso]+0x500;libc.so.6+0x3c04f;demo+0x401305;libc.so.6+0x26fff;"
                 "demo+0x401050");
    /* Without the trampoline of libkymo-preload.so. */
    assert_stack(1, 0, "demo+0x401400;libc.so.6+0x87fff;libc.so.6+0xfffff");
    assert_stack(1, 1, "inner;outer;[truncated stack]");
    assert_stack(1, 2, "demo+0x401400;0xfffffffffffffffe;[incomplete stack]");
    assert_stack(1, 3, ""); /* lost */
    assert_stack(1, 4, "[waiting: futex];[incomplete stack]");
    assert_stack(3, 0, "odd+0x401500;odd+0x401050");
    /* The common part of the first stacks is there once: 4 + 1 + 3, 3, 1 + 2, 1 + 2, 2 nodes, and 2
     * waits. A marker was made in 2 frames of the kernel. Traced calls have 8 nodes
     * (test_ingest_calls.c). */
    assert_int_equal(kymo_profile_stacks(profile).count, 4 + 1 + 3 + 3 + 3 + 3 + 2 + 2 + 2 + 8);
}

static uint64_t weights(uint32_t thread, kymo_sample_kind kind)
{
    kymo_samples s = kymo_profile_samples(profile, thread);
    uint64_t sum = 0;
    for (size_t i = 0; i < s.count; i++)
        sum += s.kind[i] == (uint8_t)kind ? s.weight_ns[i] : 0;
    return sum;
}

static void weights_by_the_tick_are_evened_out(void **state)
{
    (void)state;
    ingest_sample();
    kymo_samples s = kymo_profile_samples(profile, 0);
    for (size_t i = 1; i < s.count; i++)
        assert_in_range(s.weight_ns[i], s.weight_ns[0] - 1, s.weight_ns[0]);
    assert_int_equal(weights(0, KYMO_SAMPLE_CPU), kymo_profile_thread(profile, 0)->cpu_ns);
}

static kymo_err thread_end_by_tick(void *ctx, const kymo_event_thread_end *event)
{
    kymo_event_thread_end end = *event;
    end.by_tick = end.thread == 0;
    return kymo_ingest_handler.thread_end(ctx, &end);
}

static void weights_of_a_thread_left_to_the_tick_are_evened_out(void **state)
{
    (void)state;
    kymo_event_handler handler = kymo_ingest_handler;
    handler.meta = meta_by_perf;
    handler.thread_end = thread_end_by_tick;
    assert_int_equal(sample_recording_emit(&handler, ingest), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    kymo_samples s = kymo_profile_samples(profile, 0);
    for (size_t i = 1; i < s.count; i++)
        assert_in_range(s.weight_ns[i], s.weight_ns[0] - 1, s.weight_ns[0]);
    s = kymo_profile_samples(profile, 1);
    assert_int_equal(s.weight_ns[3], 250000000 + 100000);
}

static void weights_add_up_to_the_cpu_clock(void **state)
{
    (void)state;
    ingest_sample_by_perf();
    kymo_samples s = kymo_profile_samples(profile, 0);
    assert_int_equal(s.count, 4);
    for (size_t i = 1; i < s.count; i++)
        assert_true(s.time_ns[i - 1] < s.time_ns[i]);
    /* The tail belongs to the newest sample, although the thread's end was told before it. */
    assert_int_equal(s.weight_ns[3], 7 + 499993);
    assert_int_equal(weights(0, KYMO_SAMPLE_CPU), kymo_profile_thread(profile, 0)->cpu_ns);
    /* To the newest CPU sample, whatever other kinds come later. */
    s = kymo_profile_samples(profile, 1);
    assert_int_equal(s.count, 6);
    assert_int_equal(s.weight_ns[3], 250000000 + 100000);
    assert_int_equal(weights(1, KYMO_SAMPLE_CPU), kymo_profile_thread(profile, 1)->cpu_ns);
    assert_int_equal(weights(1, KYMO_SAMPLE_WALL), 8000000);
    assert_int_equal(s.state[4], KYMO_STATE_SLEEPING);
    /* What it waited in is the innermost frame. */
    kymo_stacks stacks = kymo_profile_stacks(profile);
    char label[64];
    uint32_t leaf = stacks.frame[s.stack[4]];
    assert_string_equal(kymo_profile_frame_label(profile, leaf, label, sizeof label),
                        "[waiting: futex]");
    assert_int_equal(kymo_profile_frame(profile, leaf)->category, KYMO_CATEGORY_WAITING);
    assert_string_equal(
        kymo_profile_frame_label(profile, stacks.frame[s.stack[5]], label, sizeof label),
        "[blocked: read]");
    assert_int_equal(kymo_profile_quality(profile)->wall_samples, 2);
    /* A thread without samples keeps its row; its calls were traced. */
    assert_int_equal(weights(2, KYMO_SAMPLE_CPU) + weights(2, KYMO_SAMPLE_WALL), 0);
    assert_string_equal(kymo_profile_thread(profile, 2)->name, "brief");
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12f, expected %.12f", value, expected);
}

static void quality_is_computed_from_what_is_there(void **state)
{
    (void)state;
    ingest_sample();
    const kymo_quality *q = kymo_profile_quality(profile);
    assert_int_equal(q->samples, 11);
    /* Process 0 used 5257.9 ms; its threads' weights are 5.5 and 5252.1 ms. */
    near(q->achieved, 5257.6 / 5257.9);
    /* 9 CPU samples of 1 ms; four threads used 5.5 + 5252.1 + 0.3 + 1 ms. */
    near(q->sampled_rate, 9 / 5258.9);
    /* Complete: stacks 0, 1, 2, 3, 0, 3 and 7. */
    near(q->stacks_complete, 7.0 / 11);
    assert_true(isnan(q->frames_symbolized));
    assert_int_equal(q->cpu_unsampled_ns, 500 + 300000);
    assert_int_equal(q->disturbed, 2);
    assert_int_equal(q->handler_ns, 40000);
    assert_int_equal(q->lost_count, 2);
    assert_string_equal(q->lost[0].kind, "no block");
    assert_int_equal(q->lost[0].count, 7 + 10); /* the last count of each process */
    assert_string_equal(q->lost[1].kind, "depot full");
    assert_int_equal(q->lost[1].count, 1);
}

static void notes_and_images_are_kept(void **state)
{
    (void)state;
    ingest_sample();
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_int_equal(extra.hz, 250);
    assert_int_equal(kymo_profile_meta(profile)->tick_ns, 4000000);
    assert_int_equal(extra.clean, 1);
    assert_string_equal(extra.engine_reason, "perf_event_open: permission denied");
    assert_string_equal(extra.options, "cpu=1ms");
    assert_int_equal(extra.note_count, 2 + 2); /* and of markers of two names that were lost */
    assert_string_equal(extra.notes[0].text, "child 123 not recorded: static binary");
    assert_int_equal(extra.notes[0].process, 0);
    assert_int_equal(extra.notes[1].process, KYMO_NONE);
    assert_string_equal(extra.notes[2].text, "markers \"read\": 5 lost for want of room, 2 above"
                                             " the limit of their type, 3 texts cut");
    assert_int_equal(extra.image_count, 1);
    assert_string_equal(kymo_profile_module(profile, extra.images[0].module)->path, "[vdso]");
    assert_int_equal(extra.images[0].len, 6000);
    assert_int_equal(extra.images[0].bytes[8], 1);
}

static const kymo_event_handler *const h = &kymo_ingest_handler;

static void start(uint64_t period_ns)
{
    assert_int_equal(h->meta(ingest, &(kymo_event_meta){.start_ns = 1000, .period_ns = period_ns}),
                     KYMO_OK);
    assert_int_equal(h->process(ingest, &(kymo_event_process){.pid = 5, .is_main = 1}), KYMO_OK);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.tid = 5}), KYMO_OK);
}

/* On the stack that called, in the kernel's category, named by the recording alone. */
static void the_kernel_stands_on_its_caller(void **state)
{
    (void)state;
    start(1);
    const kymo_event_frame frame = {0x1234, KYMO_EVENT_NONE, 0};
    const kymo_event_stack user = {
        .flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame};
    const kymo_event_kernel_symbol symbols[] = {
        {0, 0x1100, "clear_page", "[kernel.kallsyms]"},
        {1, 0x22000, "handle_mm_fault", "[kernel.kallsyms]"},
        {2, 0x80, "ext4_read", "[ext4]"},
    };
    const kymo_event_kernel_frame fault[] = {{0, 7}, {1, 0x45}};
    const kymo_event_kernel_frame unknown[] = {{2, 1}, {KYMO_EVENT_NONE, 0}};
    const kymo_event_kernel_stack stacks[] = {
        {.stack = 1, .caller = 0, .depth = 2, .frames = fault},
        {.stack = 2, .caller = KYMO_EVENT_NONE, .depth = 2, .frames = unknown},
    };
    const kymo_event_sample samples[] = {
        {2000, 60, 0, 0, 1, 0, 0}, {2100, 90, 1, 0, 1, 0, 0}, {2200, 1, 2, 0, 1, 0, 0}};
    assert_int_equal(h->stack(ingest, &user), KYMO_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(h->kernel_symbol(ingest, &symbols[i]), KYMO_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(h->kernel_stack(ingest, &stacks[i]), KYMO_OK);
    assert_int_equal(h->kernel_stack(ingest, &stacks[0]), KYMO_E_INVALID); /* announced again */
    assert_int_equal(h->kernel_symbol(ingest, &symbols[0]), KYMO_E_INVALID);
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 3, .samples = samples}),
                     KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    assert_stack(0, 0, "0x1234");
    assert_stack(0, 1, "clear_page;handle_mm_fault;0x1234");
    assert_stack(0, 2, "ext4_read;[kernel];[incomplete stack]");
    kymo_samples s = kymo_profile_samples(profile, 0);
    kymo_stacks nodes = kymo_profile_stacks(profile);
    const kymo_frame *leaf = kymo_profile_frame(profile, nodes.frame[s.stack[1]]);
    assert_int_equal(leaf->category, KYMO_CATEGORY_KERNEL);
    assert_int_equal(leaf->address, 0x1107);
    const kymo_module *kernel = kymo_profile_module(profile, leaf->module);
    assert_string_equal(kernel->path, "[kernel.kallsyms]");
    leaf = kymo_profile_frame(profile, nodes.frame[s.stack[2]]);
    assert_int_equal(leaf->category, KYMO_CATEGORY_KERNEL);
    const kymo_module *ext4 = kymo_profile_module(profile, leaf->module);
    assert_string_equal(ext4->path, "[ext4]");
    assert_true(ext4->start >= kernel->end && ext4->end > ext4->start);
    near(kymo_profile_quality(profile)->stacks_complete, 2.0 / 3);
}

static void the_same_mapping_is_one_module(void **state)
{
    (void)state;
    start(1);
    kymo_event_module m = {.start = 0x1000, .end = 0x2000, .load_ns = 10, .path = "/a.so"};
    assert_int_equal(h->module(ingest, &m), KYMO_OK);
    m.module = 1;
    m.load_ns = 20;
    assert_int_equal(h->module(ingest, &m), KYMO_OK); /* announced again: the same */
    assert_int_equal(
        h->module_unload(ingest, &(kymo_event_module_unload){.module = 1, .time_ns = 30}), KYMO_OK);
    m.module = 2;
    m.load_ns = 40;
    assert_int_equal(h->module(ingest, &m), KYMO_OK); /* after it had gone: another */
    m.module = 3;
    m.path = "/b.so";
    assert_int_equal(h->module(ingest, &m), KYMO_OK); /* another file there */
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_MODULES), 3);
    assert_int_equal(kymo_profile_module(profile, 0)->unload_ns, 30);
    assert_int_equal(kymo_profile_module(profile, 1)->load_ns, 40);
    assert_int_equal(kymo_profile_module(profile, 1)->unload_ns, 0);
    /* Frames of both announcements are the same frame. */
    for (uint32_t i = 0; i < 2; i++) {
        const kymo_event_frame frame = {0x1100, i, 0};
        assert_int_equal(h->stack(ingest, &(kymo_event_stack){.stack = i,
                                                              .flags = KYMO_EVENT_STACK_COMPLETE,
                                                              .depth = 1,
                                                              .frames = &frame}),
                         KYMO_OK);
    }
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_STACKS), 1);
}

/* Stacks that share with the one before, under changing roots, are what they would be alone. */
static void shared_frames_are_those_of_the_stack_before(void **state)
{
    (void)state;
    enum { N = 400, DEPTH = 12 };
    static kymo_event_frame frames[N][DEPTH];
    static uint32_t depth[N];
    static const uint32_t flags[] = {KYMO_EVENT_STACK_COMPLETE, KYMO_EVENT_STACK_TRUNCATED, 0};
    uint32_t seed = 1;
    start(1);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t shared = 0;
        seed = seed * 1103515245 + 12345;
        depth[i] = seed >> 16 & 7;
        if (i > 0) {
            shared = seed >> 20 & 7;
            shared = shared > depth[i - 1] ? depth[i - 1] : shared;
            depth[i] += shared;
            depth[i] = depth[i] > DEPTH ? DEPTH : depth[i];
        }
        for (uint32_t k = 0; k < depth[i]; k++) { /* k counts from outside */
            kymo_event_frame *f = &frames[i][depth[i] - 1 - k];
            if (k < shared)
                *f = frames[i - 1][depth[i - 1] - 1 - k];
            else
                *f = (kymo_event_frame){1 + i * 100 + k, KYMO_EVENT_NONE, 0};
        }
        const kymo_event_stack e = {.stack = i,
                                    .flags = flags[seed >> 24 & 1 ? i % 3 : 0],
                                    .depth = depth[i],
                                    .shared = shared,
                                    .frames = frames[i]};
        assert_int_equal(h->stack(ingest, &e), KYMO_OK);
        const kymo_event_sample sample = {i + 1, 1, i, 1, 0, 0, 0};
        assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 1, .samples = &sample}),
                         KYMO_OK);
    }
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    kymo_samples samples = kymo_profile_samples(profile, 0);
    kymo_stacks stacks = kymo_profile_stacks(profile);
    assert_int_equal(samples.count, N);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t stack = samples.stack[i];
        for (uint32_t k = 0; k < depth[i]; k++, stack = stacks.parent[stack])
            assert_int_equal(kymo_profile_frame(profile, stacks.frame[stack])->address,
                             frames[i][k].address);
        if (stack != KYMO_NONE) { /* the label of a stack that is not complete */
            assert_int_equal(kymo_profile_frame(profile, stacks.frame[stack])->address,
                             KYMO_NO_ADDRESS);
            assert_int_equal(stacks.parent[stack], KYMO_NONE);
        }
    }
}

static void figures_that_do_not_apply_are_nan(void **state)
{
    (void)state;
    start(0);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    const kymo_quality *q = kymo_profile_quality(profile);
    assert_true(isnan(q->achieved));
    assert_true(isnan(q->sampled_rate));
    assert_true(isnan(q->stacks_complete));
    assert_int_equal(kymo_profile_meta(profile)->end_ns, 1000); /* the last time seen */
}

/* Running threads get the stacks of CPU samples. Where a thread never had one, no stack is broken;
 * one without a stack of a thread that had some is. */
static void threads_without_cpu_samples_break_no_stacks(void **state)
{
    (void)state;
    start(10);
    const kymo_event_frame frame = {0x1234, KYMO_EVENT_NONE, 0};
    const kymo_event_stack stack = {
        .flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame};
    enum { CPU, WALL, RUNS = KYMO_STATE_RUNNING, WAITS = KYMO_STATE_SLEEPING };
    const kymo_event_sample sampled[] = {{2000, 60, 0, CPU, RUNS, 0, 0},
                                         {2010, 60, 0, WALL, RUNS, 0, 0},
                                         {2020, 60, KYMO_EVENT_NONE, WALL, RUNS, 0, 0}};
    const kymo_event_sample brief[] = {{2000, 60, KYMO_EVENT_NONE, WALL, RUNS, 0, 0},
                                       {2010, 60, KYMO_EVENT_NONE, WALL, RUNS, 0, 0},
                                       {2020, 60, KYMO_EVENT_NONE, WALL, WAITS, 0, 0}};
    assert_int_equal(h->stack(ingest, &stack), KYMO_OK);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.thread = 1, .tid = 6}), KYMO_OK);
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 3, .samples = sampled}),
                     KYMO_OK);
    assert_int_equal(
        h->samples(ingest, &(kymo_event_samples){.thread = 1, .count = 3, .samples = brief}),
        KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    assert_int_equal(kymo_profile_quality(profile)->wall_samples, 5);
    assert_int_equal(kymo_profile_quality(profile)->wall_stackless, 2);
    near(kymo_profile_quality(profile)->stacks_complete, 2.0 / (6 - 2));
}

static void too_much_weight_is_no_better_than_too_little(void **state)
{
    (void)state;
    start(10);
    const kymo_event_sample samples[] = {{2000, 60, KYMO_EVENT_NONE, 0, 1, 0, 0},
                                         {2010, 60, KYMO_EVENT_NONE, 0, 1, 0, 0}};
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 2, .samples = samples}),
                     KYMO_OK);
    assert_int_equal(h->process_end(ingest, &(kymo_event_process_end){.user_ns = 90}), KYMO_OK);
    assert_int_equal(h->thread_end(ingest, &(kymo_event_thread_end){.cpu_ns = 15}), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    near(kymo_profile_quality(profile)->achieved, 90.0 / 120);
    near(kymo_profile_quality(profile)->sampled_rate, 1); /* 2 samples in 1.5 periods */
}

/* It has a sample that nothing counts; what comes after it is in none. */
static void the_start_of_a_process_is_no_sample(void **state)
{
    (void)state;
    start(10);
    const kymo_event_frame frame = {.module = KYMO_EVENT_NONE, .flags = KYMO_EVENT_FRAME_STARTUP};
    const kymo_event_stack stack = {
        .flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame};
    const kymo_event_sample startup = {1500, 70, 0, 0, 1, 0, 0};
    const kymo_event_sample sample = {2000, 12, KYMO_EVENT_NONE, 0, 1, 0, 0};
    assert_int_equal(h->stack(ingest, &stack), KYMO_OK);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.thread = 1, .tid = 6}), KYMO_OK);
    /* Thread 1 claims to have begun once more: that is a sample like others. */
    const struct {
        uint32_t thread;
        const kymo_event_sample *sample;
    } sent[] = {{0, &startup}, {1, &startup}, {1, &startup}, {1, &sample}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sent); i++) {
        const kymo_event_samples e = {
            .thread = sent[i].thread, .count = 1, .samples = sent[i].sample};
        assert_int_equal(h->samples(ingest, &e), KYMO_OK);
    }
    const kymo_event_thread_end ends[] = {{.thread = 0, .cpu_ns = 75, .cpu_tail_ns = 5},
                                          {.thread = 1, .cpu_ns = 160, .cpu_tail_ns = 8}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(ends); i++)
        assert_int_equal(h->thread_end(ingest, &ends[i]), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    const kymo_quality *q = kymo_profile_quality(profile);
    assert_int_equal(q->samples, 2);
    assert_int_equal(q->startup_ns, 140);
    assert_int_equal(q->cpu_unsampled_ns, 5);
    near(q->sampled_rate, 2 * 10.0 / (235 - 140));
    assert_int_equal(kymo_profile_thread(profile, 0)->startup_ns, 70);
    kymo_samples s = kymo_profile_samples(profile, 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.weight_ns[0], 70);
    s = kymo_profile_samples(profile, 1);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.weight_ns[2], 12 + 8);
}

/* The recording ended before the program did: its children's clocks are not all there is. */
static void a_process_that_runs_on_counts_by_its_threads(void **state)
{
    (void)state;
    start(10);
    const kymo_event_sample samples[] = {{2000, 60, KYMO_EVENT_NONE, 0, 1, 0, 0},
                                         {2010, 30, KYMO_EVENT_NONE, 0, 1, 0, 0}};
    assert_int_equal(h->process(ingest, &(kymo_event_process){.process = 1, .pid = 6}), KYMO_OK);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.thread = 1, .process = 1, .tid = 6}),
                     KYMO_OK);
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 2, .samples = samples}),
                     KYMO_OK);
    assert_int_equal(h->process_end(ingest, &(kymo_event_process_end){.process = 1, .user_ns = 20}),
                     KYMO_OK);
    assert_int_equal(h->thread_end(ingest, &(kymo_event_thread_end){.cpu_ns = 100}), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    near(kymo_profile_quality(profile)->achieved, 90.0 / 120);
}

static void send_samples(uint32_t thread, const kymo_event_sample *samples, uint32_t count)
{
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){thread, count, samples}), KYMO_OK);
}

/* What a flight recorder dropped is no lack of samples, whether their weights were known or not. */
static uint64_t sum_of(uint32_t thread)
{
    kymo_samples s = kymo_profile_samples(profile, thread);
    uint64_t sum = 0;
    for (size_t i = 0; i < s.count; i++)
        sum += s.weight_ns[i];
    return sum;
}

/* Thread 0 has told its clock, thread 1 was ended with its process. */
static void send_copies(uint64_t copied, uint64_t process_ns)
{
    const kymo_event_sample samples[] = {{2000, 600, KYMO_EVENT_NONE, 0, 1, 0, 0},
                                         {2010, 201, KYMO_EVENT_NONE, 0, 1, 0, 0},
                                         {2020, 201, KYMO_EVENT_NONE, 0, 1, 0, 0}};
    start(10);
    assert_int_equal(h->thread(ingest, &(kymo_event_thread){.thread = 1, .tid = 6}), KYMO_OK);
    for (uint32_t i = 0; i < 2; i++)
        send_samples(i, samples, 3);
    assert_int_equal(
        h->thread_end(ingest, &(kymo_event_thread_end){.cpu_ns = 1000, .cpu_tail_ns = 0}), KYMO_OK);
    assert_int_equal(h->thread_end(ingest, &(kymo_event_thread_end){.thread = 1, .cpu_ns = 1002}),
                     KYMO_OK);
    assert_int_equal(h->quality(ingest, &(kymo_event_quality){.samples = 6, .copied = copied}),
                     KYMO_OK);
    assert_int_equal(h->process_end(ingest, &(kymo_event_process_end){.user_ns = process_ns}),
                     KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
}

static void copies_add_up_to_the_threads_clock(void **state)
{
    (void)state;
    send_copies(6, 2100);
    assert_int_equal(sum_of(0), 1000);
    assert_int_equal(sum_of(1), 1002);
    assert_int_equal(kymo_profile_samples(profile, 0).weight_ns[0], 598);
    assert_int_equal(kymo_profile_quality(profile)->copied_samples, 6);
}

/* It is from the clock itself. */
static void the_start_is_not_fitted(void **state)
{
    (void)state;
    start(10);
    const kymo_event_frame frame = {.module = KYMO_EVENT_NONE, .flags = KYMO_EVENT_FRAME_STARTUP};
    const kymo_event_stack stack = {
        .flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame};
    const kymo_event_sample samples[] = {{1500, 500, 0, 0, 1, 0, 0},
                                         {2000, 600, KYMO_EVENT_NONE, 0, 1, 0, 0},
                                         {2010, 402, KYMO_EVENT_NONE, 0, 1, 0, 0}};
    assert_int_equal(h->stack(ingest, &stack), KYMO_OK);
    send_samples(0, samples, 3);
    assert_int_equal(h->thread_end(ingest, &(kymo_event_thread_end){.cpu_ns = 1500}), KYMO_OK);
    assert_int_equal(h->quality(ingest, &(kymo_event_quality){.samples = 2, .copied = 2}), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    assert_int_equal(kymo_profile_samples(profile, 0).weight_ns[0], 500);
    assert_int_equal(kymo_profile_samples(profile, 0).weight_ns[1], 598);
    assert_int_equal(sum_of(0), 1500);
}

static void copies_add_up_to_the_processes_clock(void **state)
{
    (void)state;
    send_copies(6, 1900);
    /* The other one's clock is known. */
    assert_int_equal(sum_of(0), 1000);
    assert_int_equal(sum_of(1), 900);
}

static void weights_of_handlers_stay(void **state)
{
    (void)state;
    send_copies(0, 1900);
    assert_int_equal(sum_of(0), 1002);
    assert_int_equal(sum_of(1), 1002);
}

static void dropped_samples_are_no_lack_of_samples(void **state)
{
    (void)state;
    enum { KNOWN, UNKNOWN, GONE };
    start(10);
    const kymo_event_sample known = {2000, 10, KYMO_EVENT_NONE, 0, 1, 0, 0};
    const kymo_event_sample unknown = {2000, 0, KYMO_EVENT_NONE, 0, 1, 0, 0};
    const kymo_event_dropped dropped[] = {
        {.thread = KNOWN, .ring_bytes = 99, .samples = 7, .weight_ns = 70, .markers = 2},
        {.thread = UNKNOWN, .ring_bytes = 99, .samples = 3, .unknown = 3},
        {.thread = GONE, .ring_bytes = 99, .samples = 1, .weight_ns = 10},
        {.thread = KYMO_EVENT_NONE, .ring_bytes = 99, .counts = 5},
    };
    for (uint32_t i = UNKNOWN; i <= GONE; i++)
        assert_int_equal(
            h->thread(ingest, &(kymo_event_thread){.thread = i, .tid = 6 + (int32_t)i}), KYMO_OK);
    send_samples(KNOWN, &known, 1);
    send_samples(UNKNOWN, &unknown, 1);
    for (uint32_t i = KNOWN; i <= GONE; i++) {
        const kymo_event_thread_end end_of[] = {
            [KNOWN] = {.cpu_ns = 85, .cpu_tail_ns = 5},
            [UNKNOWN] = {.thread = UNKNOWN, .cpu_ns = 40, .cpu_tail_ns = 40},
            [GONE] = {.thread = GONE, .cpu_ns = 14, .cpu_tail_ns = 4}};
        assert_int_equal(h->thread_end(ingest, &end_of[i]), KYMO_OK);
    }
    assert_int_equal(h->process_end(ingest, &(kymo_event_process_end){.user_ns = 139}), KYMO_OK);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(dropped); i++)
        assert_int_equal(h->dropped(ingest, &dropped[i]), KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    const kymo_quality *q = kymo_profile_quality(profile);
    assert_int_equal(kymo_profile_samples(profile, KNOWN).weight_ns[0], 15);
    assert_int_equal(kymo_profile_samples(profile, UNKNOWN).weight_ns[0], 10);
    assert_int_equal(kymo_profile_thread(profile, KNOWN)->dropped_ns, 70);
    assert_int_equal(kymo_profile_thread(profile, UNKNOWN)->dropped_ns, 30);
    assert_int_equal(kymo_profile_thread(profile, GONE)->dropped_ns, 14);
    assert_int_equal(q->ring_bytes, 99);
    assert_int_equal(q->dropped_samples, 11);
    assert_int_equal(q->dropped_ns, 70 + 30 + 14);
    assert_int_equal(q->dropped_markers, 2);
    assert_int_equal(q->dropped_counts, 5);
    assert_int_equal(q->cpu_unsampled_ns, 0);
    near(q->achieved, 1);
    near(q->sampled_rate, 2 / 2.5);
}

static void sums_do_not_wrap_around(void **state)
{
    (void)state;
    start(10);
    const kymo_event_sample samples[] = {{2000, UINT64_MAX, KYMO_EVENT_NONE, 0, 1, 0, 0},
                                         {2010, UINT64_MAX - 1, KYMO_EVENT_NONE, 0, 1, 0, 0}};
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 2, .samples = samples}),
                     KYMO_OK);
    assert_int_equal(h->thread_end(ingest, &(kymo_event_thread_end){.cpu_tail_ns = UINT64_MAX}),
                     KYMO_OK);
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    assert_int_equal(kymo_profile_samples(profile, 0).weight_ns[1], UINT64_MAX);
    assert_int_equal(kymo_profile_thread(profile, 0)->cpu_ns, UINT64_MAX);
}

static void many_kinds_of_loss_are_bounded(void **state)
{
    (void)state;
    start(10);
    char name[32];
    for (uint32_t p = 0; p < 3; p++) {
        if (p > 0)
            assert_int_equal(h->process(ingest, &(kymo_event_process){.process = p, .pid = 6}),
                             KYMO_OK);
        for (uint32_t kind = 0; kind < 100; kind++) {
            snprintf(name, sizeof name, "kind %u of %u", kind, p);
            assert_int_equal(
                h->loss(ingest,
                        &(kymo_event_loss){.process = p, .kind = kind, .count = 1, .name = name}),
                KYMO_OK);
        }
    }
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_OK);
    const kymo_quality *q = kymo_profile_quality(profile);
    uint64_t sum = 0;
    assert_true(q->lost_count <= KYMO_LOST_MAX);
    for (uint32_t i = 0; i < q->lost_count; i++)
        sum += q->lost[i].count;
    assert_int_equal(sum, 3 * KYMO_LOST_MAX); /* the kinds that a process may have */
}

static void numbers_that_are_not_dense_are_refused(void **state)
{
    (void)state;
    const kymo_event_frame frame = {1, 7, 0};
    const kymo_event_sample sample = {1, 1, 3, 0, 0, 0, 0};
    start(1);
    assert_int_equal(h->process(ingest, &(kymo_event_process){.process = 4, .pid = 1}),
                     KYMO_E_INVALID);
    assert_int_equal(h->thread_end(ingest, &(kymo_event_thread_end){.thread = 4}), KYMO_E_INVALID);
    assert_int_equal(h->module(ingest, &(kymo_event_module){.module = 4, .end = 1, .path = ""}),
                     KYMO_E_INVALID);
    assert_int_equal(h->stack(ingest, &(kymo_event_stack){.stack = 3}), KYMO_E_INVALID);
    assert_int_equal(h->stack(ingest, &(kymo_event_stack){.depth = 1, .frames = &frame}),
                     KYMO_E_INVALID);
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.count = 1, .samples = &sample}),
                     KYMO_E_INVALID);
    assert_int_equal(h->samples(ingest, &(kymo_event_samples){.thread = 1}), KYMO_E_INVALID);
}

static void nothing_is_not_a_recording(void **state)
{
    (void)state;
    assert_int_equal(kymo_ingest_finish(ingest), KYMO_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_ran_where, begin, end),
        cmocka_unit_test_setup_teardown(stacks_begin_where_they_begin, begin, end),
        cmocka_unit_test_setup_teardown(weights_by_the_tick_are_evened_out, begin, end),
        cmocka_unit_test_setup_teardown(weights_of_a_thread_left_to_the_tick_are_evened_out, begin,
                                        end),
        cmocka_unit_test_setup_teardown(weights_add_up_to_the_cpu_clock, begin, end),
        cmocka_unit_test_setup_teardown(quality_is_computed_from_what_is_there, begin, end),
        cmocka_unit_test_setup_teardown(notes_and_images_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(the_same_mapping_is_one_module, begin, end),
        cmocka_unit_test_setup_teardown(shared_frames_are_those_of_the_stack_before, begin, end),
        cmocka_unit_test_setup_teardown(figures_that_do_not_apply_are_nan, begin, end),
        cmocka_unit_test_setup_teardown(threads_without_cpu_samples_break_no_stacks, begin, end),
        cmocka_unit_test_setup_teardown(too_much_weight_is_no_better_than_too_little, begin, end),
        cmocka_unit_test_setup_teardown(the_start_of_a_process_is_no_sample, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_runs_on_counts_by_its_threads, begin, end),
        cmocka_unit_test_setup_teardown(copies_add_up_to_the_threads_clock, begin, end),
        cmocka_unit_test_setup_teardown(the_start_is_not_fitted, begin, end),
        cmocka_unit_test_setup_teardown(copies_add_up_to_the_processes_clock, begin, end),
        cmocka_unit_test_setup_teardown(weights_of_handlers_stay, begin, end),
        cmocka_unit_test_setup_teardown(dropped_samples_are_no_lack_of_samples, begin, end),
        cmocka_unit_test_setup_teardown(sums_do_not_wrap_around, begin, end),
        cmocka_unit_test_setup_teardown(many_kinds_of_loss_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(numbers_that_are_not_dense_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_not_a_recording, begin, end),
        cmocka_unit_test_setup_teardown(the_kernel_stands_on_its_caller, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
