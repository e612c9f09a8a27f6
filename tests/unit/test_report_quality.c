/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_quality.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/tables.h"
#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define MS 1000000u

static kymo_profile *profile;
static kymo_report *report;
static uint32_t process, thread;
static uint64_t clock_ns;

static int setup(void **state)
{
    (void)state;
    OK(kymo_profile_create(&profile));
    kymo_process p = {.size = sizeof p, .pid = 7, .name = "prog", .is_main = 1};
    OK(kymo_profile_add_process(profile, &p, &process));
    kymo_thread t = {.size = sizeof t, .process = process, .tid = 7};
    OK(kymo_profile_add_thread(profile, &t, &thread));
    report = NULL;
    clock_ns = 1000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_report_destroy(report);
    kymo_profile_destroy(profile);
    return 0;
}

/* A sample in a function of a file, without a name, or in no file. */
static void add(const char *path, const char *name, uint64_t weight_ns)
{
    uint32_t module = KYMO_NONE;
    uint32_t frame;
    uint32_t stack;
    clock_ns += MS;
    kymo_module m = {.size = sizeof m,
                     .process = process,
                     .path = path,
                     .start = clock_ns,
                     .end = clock_ns + 100};
    if (path)
        OK(kymo_profile_add_module(profile, &m, &module));
    OK(kymo_profile_add_frame(profile, module, 0x10, KYMO_CATEGORY_AUTO, &frame));
    if (name) {
        kymo_function f = {.source = KYMO_NONE, .module = module};
        kymo_line line = {.line = 1};
        OK(kymo_profile_add_string(profile, name, strlen(name), &f.name));
        OK(kymo_profile_add_function(profile, &f, &line.function));
        OK(kymo_profile_frame_set_lines(profile, frame, &line, 1, KYMO_NONE, 1));
    }
    OK(kymo_profile_add_stack(profile, KYMO_NONE, frame, &stack));
    OK(kymo_profile_add_sample(profile, thread, clock_ns, stack, weight_ns, KYMO_SAMPLE_CPU, 0));
}

static kymo_quality plain(uint64_t samples)
{
    return (kymo_quality){.size = sizeof(kymo_quality),
                          .samples = samples,
                          .achieved = NAN,
                          .sampled_rate = NAN,
                          .wall_achieved = NAN,
                          .stacks_complete = NAN,
                          .frames_symbolized = NAN};
}

static void finish(const char *engine, uint64_t period_ns, uint64_t tick_ns, uint64_t cpu_ns,
                   const kymo_quality *q)
{
    kymo_meta meta = {
        .size = sizeof meta, .engine = engine, .period_ns = period_ns, .tick_ns = tick_ns};
    kymo_process p = *kymo_profile_process(profile, process);
    p.cpu_ns = cpu_ns;
    OK(kymo_profile_update_process(profile, process, &p));
    OK(kymo_profile_set_meta(profile, &meta));
    OK(kymo_profile_set_quality(profile, q));
    OK(kymo_profile_finish(profile));
    OK(kymo_report_create(profile, NULL, &report));
}

#define TEXT_OF(text, columns, print)                      \
    do {                                                   \
        size_t text_len_;                                  \
        FILE *to_ = open_memstream(&(text), &text_len_);   \
        kymo_terminal t = {.to = to_, .width = (columns)}; \
        print;                                             \
        fclose(to_);                                       \
    } while (0)

static void expect(const char *says)
{
    char *text;
    TEXT_OF(text, 0, kymo_report_print_quality(&t, profile, report, ""));
    assert_string_equal(text, says);
    free(text);
}

static void a_good_recording(void **state)
{
    (void)state;
    kymo_quality q = plain(99);
    q.stacks_complete = 1;
    add("/opt/prog", "work", 100 * MS);
    finish("perf", MS, 0, 100 * MS, &q);
    expect("quality: good: 99 of 100 expected samples, all stacks complete, function names for all "
           "CPU time\n");
}

/* The report is of traced calls; the quality is that of the CPU samples all the same. */
static void traced_calls_are_no_samples(void **state)
{
    (void)state;
    kymo_quality q = plain(99);
    q.stacks_complete = 1;
    kymo_profile_add_trace_types(profile);
    add("/opt/prog", "work", 100 * MS);
    OK(kymo_profile_add_sample(profile, thread, clock_ns, 0, MS, KYMO_SAMPLE_TRACE, 0));
    finish("perf", MS, 0, 100 * MS, &q);
    assert_int_equal(kymo_report_total(report), MS);
    expect("quality: good: 99 of 100 expected samples, all stacks complete, function names for all "
           "CPU time\n");
}

/* 99.99 % is not all of it, and nothing is rounded up to it. */
static void what_is_missing_is_in_the_verdict(void **state)
{
    (void)state;
    kymo_lost lost[] = {{"no block", 2}, {"depot full", 0}};
    kymo_quality q = plain(100);
    q.stacks_complete = 0.9999;
    q.lost = lost;
    q.lost_count = 2;
    add("/opt/prog", "work", 60 * MS);
    add("/opt/prog", NULL, 20 * MS);
    add(NULL, NULL, 20 * MS);
    finish("perf", MS, 0, 100 * MS, &q);
    expect("quality: fair: all 100 expected samples, 99.9 % of stacks complete, function names for "
           "60.0 % of CPU time, 2 lost\n");
}

static void half_of_the_samples_is_poor(void **state)
{
    (void)state;
    kymo_quality q = plain(400);
    add("/opt/prog", "work", 1000 * MS);
    finish("perf", MS, 0, 1000 * MS, &q);
    expect("quality: poor: 400 of 1000 expected samples, function names for all CPU time\n");
}

/* What a flight recorder dropped is said, and is not judged. */
static void dropped_samples_are_not_missing(void **state)
{
    (void)state;
    size_t n;
    kymo_quality q = plain(100);
    kymo_thread t = *kymo_profile_thread(profile, thread);
    t.cpu_ns = 1000 * MS;
    t.dropped_ns = 900 * MS;
    OK(kymo_profile_update_thread(profile, thread, &t));
    q.ring_bytes = 64 << 20;
    q.dropped_samples = 900;
    q.dropped_ns = 900 * MS;
    q.dropped_markers = 1;
    add("/opt/prog", "work", 100 * MS);
    finish("perf", MS, 0, 1000 * MS, &q);
    expect("quality: good: all 100 expected samples, function names for all CPU time\n"
           "ring:    900 older samples (900 ms of CPU time), 1 older marker dropped to keep the "
           "newest 64 MiB\n");
    assert_int_equal(kymo_report_processes(report, &n)->unsampled_ns, 0);
    assert_int_equal(kymo_report_processes(report, &n)->without_samples, 0);
    assert_true(kymo_report_threads(report, &n)->achieved == 1);
}

/* One sample of 1.6 ms is no rate of 61 %. */
static void of_a_short_program_there_is_no_share(void **state)
{
    (void)state;
    kymo_quality q = plain(1);
    q.sampled_rate = 0.611;
    add("/opt/prog", "work", MS);
    finish("perf", MS, 0, 1636000, &q);
    expect("quality: few samples: 1 of 2 expected samples, function names for all CPU time\n");
}

static void set_startup(uint64_t startup_ns)
{
    kymo_thread t = *kymo_profile_thread(profile, thread);
    t.startup_ns = startup_ns;
    OK(kymo_profile_update_thread(profile, thread, &t));
}

/* They have no samples, so none is expected; but their time is shown. */
static void starts_of_processes_are_told_apart(void **state)
{
    (void)state;
    kymo_quality q = plain(99);
    char *text;
    q.stacks_complete = 1;
    q.startup_ns = 50 * MS;
    add("/opt/prog", "work", 100 * MS);
    add(NULL, KYMO_STARTUP_NAME, 50 * MS);
    set_startup(50 * MS);
    finish("perf", MS, 0, 150 * MS, &q);
    expect("quality: good: 99 of 100 expected samples, all stacks complete, function names for all "
           "CPU time\n");
    TEXT_OF(text, 0, kymo_report_print_quality_details(&t, profile, report, ""));
    assert_non_null(strstr(text, "samples: 99 of 100 expected samples, which stand for 100 ms of "
                                 "100 ms of CPU time\n"
                                 "start:   50 ms of CPU time before samples began, in exec and the "
                                 "dynamic loader\n"));
    free(text);
    TEXT_OF(text, 0, kymo_report_print_startup(&t, profile, "note: "));
    assert_string_equal(text, "note: starts of processes: 50 ms of 150 ms of CPU time is in exec "
                              "and the dynamic loader, where no samples can be taken: it is shown "
                              "as " KYMO_STARTUP_NAME "\n");
    free(text);
}

static void a_short_start_is_not_worth_a_line(void **state)
{
    (void)state;
    kymo_quality q = plain(1000);
    char *text;
    q.startup_ns = 500 * MS; /* of the whole that this is a part of */
    set_startup(6 * MS);
    add("/opt/prog", "work", 1000 * MS);
    finish("perf", MS, 0, 1000 * MS, &q);
    TEXT_OF(text, 0, kymo_report_print_startup(&t, profile, "note: "));
    assert_string_equal(text, "");
    free(text);
}

/* Of 572 ms without a sample all is not sampled, whatever part of it has a known reason. */
static void no_sample_at_all(void **state)
{
    (void)state;
    kymo_quality q = plain(0);
    char *text;
    q.cpu_unsampled_ns = 247 * MS;
    finish("perf", MS, 0, 572 * MS, &q);
    expect("quality: poor: no sample in 572 ms of CPU time\n");
    TEXT_OF(text, 0, kymo_report_print_quality_details(&t, profile, report, ""));
    assert_non_null(strstr(text, "samples: 0 of 572 expected samples, which stand for 0 ns of 572 "
                                 "ms of CPU time; 572 ms not sampled\n"));
    free(text);
}

static void lines_fit_the_terminal(void **state)
{
    (void)state;
    kymo_quality q = plain(99);
    q.stacks_complete = 1;
    add("/opt/prog", "work", 100 * MS);
    add("/opt/stripped", NULL, 100 * MS);
    finish("perf", MS, 0, 200 * MS, &q);
    for (int width = 40; width < 130; width += 9) {
        char *text;
        TEXT_OF(text, width, {
            kymo_report_print_quality(&t, profile, report, "kymo: ");
            kymo_report_print_quality_details(&t, profile, report, "kymo: ");
            kymo_report_print_unnamed(&t, profile, report, "kymo: ");
        });
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));)
            if (kymo_terminal_columns(line) > (size_t)width)
                fail_msg("wider than %d: %s", width, line);
        free(text);
    }
}

static void details_have_every_figure(void **state)
{
    (void)state;
    kymo_lost lost[] = {{"no block", 2}};
    kymo_quality q = plain(250);
    char *text;
    q.stacks_complete = 0.5;
    q.frames_symbolized = 0.25;
    q.python_samples = 240;
    q.lost = lost;
    q.lost_count = 1;
    q.disturbed = 3;
    add("/opt/prog", "work", 990 * MS);
    finish("\033[31mtimer", MS, 4 * MS, 1000 * MS, &q);
    TEXT_OF(text, 0, kymo_report_print_quality_details(&t, profile, report, ""));
    assert_string_equal(
        text,
        "engine:  ?[31mtimer, every 1 ms\n"
        "samples: 250 of 1000 expected samples, which stand for 990 ms of 1.00 s of CPU time; 10 "
        "ms not sampled\n"
        "stacks:  50.0 % complete, down to _start or clone\n"
        "python:  240 of 250 samples have functions of Python\n"
        "names:   100 % of CPU time is in functions with names; of all frames in files with "
        "symbols 25.0 %\n"
        "lost:    2 records (no block: 2)\n"
        "calls:   3 system calls interrupted (EINTR)\n");
    free(text);
}

static void wall_samples_without_a_stack_are_explained(void **state)
{
    (void)state;
    kymo_quality q = plain(300);
    char *text;
    q.wall_samples = 200;
    q.wall_stackless = 50;
    q.wall_achieved = 1;
    add("/opt/prog", "work", 100 * MS);
    kymo_meta meta = {.size = sizeof meta, .wall_period_ns = 10 * MS};
    OK(kymo_profile_set_meta(profile, &meta));
    OK(kymo_profile_set_quality(profile, &q));
    OK(kymo_profile_finish(profile));
    TEXT_OF(text, 0, kymo_report_print_quality_details(&t, profile, NULL, ""));
    assert_non_null(strstr(text, "wall:    every 10 ms, 200 samples, which stand for 100 % of the "
                                 "threads' time; 50 have no stack: their threads ran, but had no "
                                 "CPU sample\n"));
    free(text);
}

/* The timer engine cannot take more than the tick allows; that is its period then. */
static void the_tick_is_the_period_of_timers(void **state)
{
    (void)state;
    kymo_quality q = plain(250);
    char *text;
    add("/opt/prog", "work", 1000 * MS);
    finish("timer", MS, 4 * MS, 1000 * MS, &q);
    expect("quality: good: all 250 expected samples, function names for all CPU time\n");
    TEXT_OF(text, 0, kymo_report_print_quality_details(&t, profile, report, ""));
    assert_non_null(
        strstr(text, "engine:  timer, every 4 ms (1 ms requested; the kernel tick is no finer)\n"));
    free(text);
}

/* One line, and only if it matters: what it means, and what can be done here. */
static void few_samples(void **state)
{
    (void)state;
    static const struct {
        const char *engine;
        uint64_t period_ns, tick_ns, samples, wall_samples, cpu_ns;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {"timer", MS, 4 * MS, 29, 0, 116 * MS,
         "! few samples: 29 stand for 116 ms of CPU time, so small shares may be chance; the timer "
         "engine cannot sample more often than the kernel tick of 4 ms: record longer, or allow "
         "the perf "
         "engine (sysctl kernel.perf_event_paranoid=2; kymo doctor tells more)\n"},
        {"perf", MS, 4 * MS, 50, 0, 1000 * MS,
         "! few samples: 50 stand for 1.00 s of CPU time, 5.0 % of those requested, so small "
         "shares may be chance; record longer; kymo doctor tells what may hold samples back\n"},
        {"perf", 10 * MS, 4 * MS, 20, 0, 200 * MS,
         "! few samples: 20 stand for 200 ms of CPU time, so small shares may be chance; record "
         "longer, or sample more often (--cpu=PERIOD)\n"},
        {"timer", MS, 4 * MS, 30, 0, 120 * MS, NULL}, /* a quarter, and enough of them */
        {"timer", MS, 4 * MS, 10, 0, 40 * MS, NULL},  /* few, of a short program */
        {"timer", MS, 4 * MS, 0, 0, 20 * MS, NULL},   /* hardly ran */
        {"perf", MS, 4 * MS, 100, 0, 1000 * MS, NULL},
        {"", 0, 0, 3, 0, 1000 * MS, NULL}, /* was not sampled by time */
        /* Samples of wall time are no samples of CPU time. */
        {"perf", 10 * MS, 0, 16577, 16557, 200 * MS,
         "! few samples: 20 stand for 200 ms of CPU time, so small shares may be chance; record "
         "longer, or sample more often (--cpu=PERIOD)\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text;
        kymo_quality q = plain(cases[i].samples);
        q.wall_samples = cases[i].wall_samples;
        finish(cases[i].engine, cases[i].period_ns, cases[i].tick_ns, cases[i].cpu_ns, &q);
        TEXT_OF(text, 0, kymo_report_print_few(&t, profile, "! "));
        assert_string_equal(text, cases[i].says ? cases[i].says : "");
        free(text);
        kymo_report_destroy(report);
        report = NULL;
    }
}

static void expect_hint(const char *says)
{
    char *text;
    kymo_quality q = plain(100);
    finish("perf", MS, 0, 100 * MS, &q);
    TEXT_OF(text, 0, kymo_report_print_unnamed(&t, profile, report, "note: "));
    if (says[0] ? !strstr(text, says) : text[0] != '\0')
        fail_msg("\"%s\" is not in \"%s\"", says, text);
    free(text);
}

static void a_little_without_symbols_is_no_line(void **state)
{
    (void)state;
    add("/opt/prog", "work", 96 * MS);
    add("/opt/prog", NULL, 4 * MS);
    expect_hint("");
}

static void code_without_symbols(void **state)
{
    (void)state;
    add("/usr/lib/none/libkymo-none.so", NULL, 10 * MS);
    add("/proc/self/exe", NULL, 20 * MS);
    add("/opt/prog", "work", 70 * MS);
    expect_hint("note: 30 % of the time is in code without symbols, most of it in exe; it is "
                "stripped: build it with -g, or install its debug file\n");
}

/* The one with the largest function is not the one with most of the time. */
static void code_without_symbols_in_two_modules(void **state)
{
    (void)state;
    add("/nowhere/small", NULL, 12 * MS);
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "large+0x%x", 0x100 * (i + 1));
        add("/nowhere/large", name, 10 * MS);
    }
    add("/opt/prog", "work", 48 * MS);
    expect_hint("note: 52 % of the time is in code without symbols, most of it in large; ");
}

static void code_of_a_system_library(void **state)
{
    (void)state;
    if (access("/lib/x86_64-linux-gnu/libc.so.6", F_OK) != 0)
        skip();
    add("/lib/x86_64-linux-gnu/libc.so.6", NULL, 10 * MS);
    add("/opt/prog", "work", 10 * MS);
    expect_hint("most of it in libc.so.6; its debug package would name it\n");
}

/* No debug package names what is not there. */
static void code_of_a_file_that_is_gone(void **state)
{
    (void)state;
    add("/nowhere/prog", NULL, 10 * MS);
    add("/opt/prog", "work", 10 * MS);
    expect_hint("most of it in prog; /nowhere/prog is not there any more\n");
}

static void functions_by_their_place_are_no_names(void **state)
{
    (void)state;
    add("/opt/prog", "prog+0x4330", 10 * MS);
    add("/opt/prog", "work", 10 * MS);
    kymo_quality q = plain(20);
    q.stacks_complete = 1;
    finish("perf", MS, 0, 20 * MS, &q);
    expect("quality: few samples: all 20 expected samples, all stacks complete, function names for "
           "50.0 % of CPU time\n");
}

static void a_jvm_is_told_its_flags(void **state)
{
    (void)state;
    add("/usr/lib/jvm/libjvm.so", "gc", 10 * MS);
    add(NULL, NULL, 30 * MS);
    expect_hint(
        "note: 75 % of the time is in code that the program made while it ran, without "
        "names; start the JVM with -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
        "-XX:+DumpPerfMapAtExit\n");
}

static void node_is_told_its_flag(void **state)
{
    (void)state;
    add("/usr/bin/node", "gc", 10 * MS);
    add(NULL, NULL, 30 * MS);
    expect_hint("start node with --perf-basic-prof\n");
}

static void python_that_is_not_shown(void **state)
{
    (void)state;
    add("/usr/bin/python3.11", "_PyEval_EvalFrameDefault", 60 * MS);
    add("/opt/prog", "work", 40 * MS);
    expect_hint("note: 60 % of the time is the Python interpreter's own: the functions shown are "
                "those of the interpreter and of C libraries, those of Python are not shown "
                "(python3 -m cProfile names them)\n");
}

static void add_process_of(const char *name, uint64_t cpu_ns)
{
    uint32_t id;
    kymo_process p = {.size = sizeof p, .pid = 100, .name = name, .cpu_ns = cpu_ns};
    OK(kymo_profile_add_process(profile, &p, &id));
}

static void expect_unsampled(const char *says)
{
    char *text;
    TEXT_OF(text, 0, kymo_report_print_unsampled(&t, report, "note: "));
    assert_string_equal(text, says);
    free(text);
}

static void short_processes_are_named(void **state)
{
    (void)state;
    kymo_quality q = plain(1);
    size_t n;
    add("/bin/prog", "work", 10 * MS);
    for (int i = 0; i < 200; i++)
        add_process_of("true", MS / 2);
    add_process_of("a\x1b[2Jb", 4 * MS);
    add_process_of("cat", 100);
    finish("perf", MS, 0, 16 * MS, &q);
    expect_unsampled("note: without samples: 110 ms of 120 ms of CPU time: 100 ms true (200 "
                     "processes), 6 ms prog, 4 ms a?[2Jb\n");
    const kymo_report_process *rows = kymo_report_processes(report, &n);
    assert_int_equal(n, 4);
    assert_int_equal(rows[0].without_samples, 200);
    assert_int_equal(rows[1].without_samples, 0);
    assert_int_equal(rows[1].cpu_ns, 16 * MS);
    assert_string_equal(rows[3].name, "cat");
}

static void little_without_samples_is_not_worth_a_line(void **state)
{
    (void)state;
    kymo_quality q = plain(1);
    add("/bin/prog", "work", 996 * MS);
    add_process_of("true", 4 * MS);
    finish("perf", MS, 0, 1000 * MS, &q);
    expect_unsampled("");
}

/* Of a process that was not seen to end, the threads' clocks are what is known. */
static void a_process_without_an_end_has_its_threads_time(void **state)
{
    (void)state;
    kymo_quality q = plain(1);
    size_t n;
    add("/bin/prog", "work", 10 * MS);
    kymo_thread t = *kymo_profile_thread(profile, thread);
    t.cpu_ns = 40 * MS;
    OK(kymo_profile_update_thread(profile, thread, &t));
    finish("perf", MS, 0, 0, &q);
    const kymo_report_process *rows = kymo_report_processes(report, &n);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].cpu_ns, 40 * MS);
    assert_int_equal(rows[0].unsampled_ns, 30 * MS);
    assert_true(kymo_profile_cpu_ns(profile) == 40 * MS);
}

static void sums_of_cpu_time_do_not_wrap(void **state)
{
    (void)state;
    kymo_quality q = plain(1);
    add("/bin/prog", "work", MS);
    kymo_thread t = *kymo_profile_thread(profile, thread);
    t.cpu_ns = UINT64_MAX - 2 * MS;
    OK(kymo_profile_update_thread(profile, thread, &t));
    add_process_of("more", 3 * MS);
    finish("perf", MS, 0, 0, &q);
    assert_true(kymo_profile_cpu_ns(profile) == UINT64_MAX);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_good_recording),
        T(traced_calls_are_no_samples),
        T(what_is_missing_is_in_the_verdict),
        T(half_of_the_samples_is_poor),
        T(dropped_samples_are_not_missing),
        T(of_a_short_program_there_is_no_share),
        T(starts_of_processes_are_told_apart),
        T(a_short_start_is_not_worth_a_line),
        T(no_sample_at_all),
        T(lines_fit_the_terminal),
        T(details_have_every_figure),
        T(wall_samples_without_a_stack_are_explained),
        T(the_tick_is_the_period_of_timers),
        T(few_samples),
        T(a_little_without_symbols_is_no_line),
        T(code_without_symbols),
        T(code_without_symbols_in_two_modules),
        T(code_of_a_system_library),
        T(code_of_a_file_that_is_gone),
        T(functions_by_their_place_are_no_names),
        T(a_jvm_is_told_its_flags),
        T(node_is_told_its_flag),
        T(python_that_is_not_shown),
        T(short_processes_are_named),
        T(little_without_samples_is_not_worth_a_line),
        T(a_process_without_an_end_has_its_threads_time),
        T(sums_of_cpu_time_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
