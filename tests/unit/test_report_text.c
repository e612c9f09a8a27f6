/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static kymo_profile *profile;
static kymo_report *report;

/* main calls work calls a function with a long name; 10, 30 and 60 ms. */
static int setup(void **state)
{
    (void)state;
    static const char *const names[] = {
        "main", "work", "std::__cxx11::basic_string<char>::a_very_long_name_indeed(int)"};
    static const char *const paths[] = {"../.././x/../a.c", "./build//../../b/.././prog.cc/",
                                        "/long/way/to/build/.././the/x/y/../../source/of/prog.cc"};
    uint32_t process;
    uint32_t thread;
    uint32_t module;
    uint32_t stack = KYMO_NONE;
    OK(kymo_profile_create(&profile));
    kymo_process p = {
        .size = sizeof p, .pid = 7, .name = "prog", .cpu_ns = 100000000, .is_main = 1};
    OK(kymo_profile_add_process(profile, &p, &process));
    kymo_thread t = {
        .size = sizeof t, .process = process, .tid = 7, .name = "tic\ntac", .cpu_ns = 100000000};
    OK(kymo_profile_add_thread(profile, &t, &thread));
    kymo_module m = {
        .size = sizeof m, .process = process, .path = "/opt/prog", .start = 1, .end = 9};
    OK(kymo_profile_add_module(profile, &m, &module));
    for (uint32_t i = 0; i < 3; i++) {
        kymo_function f = {.source = KYMO_NONE, .start_line = i + 1, .module = module};
        kymo_line line = {.line = i + 10};
        uint32_t frame;
        OK(kymo_profile_add_string(profile, names[i], strlen(names[i]), &f.name));
        OK(kymo_profile_add_source(profile, paths[i], strlen(paths[i]), &f.source));
        OK(kymo_profile_add_function(profile, &f, &line.function));
        OK(kymo_profile_add_frame(profile, module, 0x10 + i, KYMO_CATEGORY_AUTO, &frame));
        OK(kymo_profile_frame_set_lines(profile, frame, &line, 1, KYMO_NONE, 1));
        OK(kymo_profile_add_stack(profile, stack, frame, &stack));
        OK(kymo_profile_add_sample(profile, thread, 1000 + i, stack,
                                   i == 0   ? 10000000
                                   : i == 1 ? 30000000
                                            : 60000000,
                                   KYMO_SAMPLE_CPU, 0));
    }
    OK(kymo_profile_finish(profile));
    OK(kymo_report_create(profile, NULL, &report));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_report_destroy(report);
    kymo_profile_destroy(profile);
    return 0;
}

/* What print writes into a terminal of this width; 0: a pipe. */
#define TEXT_OF(text, columns, colours, print)                                  \
    do {                                                                        \
        size_t text_len_;                                                       \
        FILE *to_ = open_memstream(&(text), &text_len_);                        \
        kymo_terminal t = {.to = to_, .colour = (colours), .width = (columns)}; \
        print;                                                                  \
        fclose(to_);                                                            \
    } while (0)

static void the_table_in_a_pipe(void **state)
{
    (void)state;
    char *text;
    TEXT_OF(text, 0, 0, kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, 3, ""));
    assert_string_equal(text, "  self   total        self  function\n"
                              " 60.0 %  60.0 %       60 ms  "
                              "std::__cxx11::basic_string<char>::a_very_long_name_indeed(int)"
                              "  /long/way/to/the/source/of/prog.cc:3\n"
                              " 30.0 %  90.0 %       30 ms  work"
                              "                                                        "
                              "  ../prog.cc/:2\n"
                              " 10.0 % 100.0 %       10 ms  main"
                              "                                                        "
                              "  ../../a.c:1\n");
    free(text);
    TEXT_OF(text, 0, 0, kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, 1, " (more)"));
    assert_non_null(strstr(text, "                             ... and 2 more (more)\n"));
    free(text);
}

/* No line is wider than the terminal, and both columns keep what tells most. */
static void the_table_fits_a_terminal(void **state)
{
    (void)state;
    for (int width = 80; width < 200; width += 7) {
        char *text;
        TEXT_OF(text, width, 0, kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, 0, ""));
        assert_non_null(strstr(text, "prog.cc:3"));
        assert_non_null(strstr(text, "std::__cxx11"));
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));)
            assert_true(kymo_terminal_columns(line) <= (size_t)width);
        free(text);
    }
}

static void colour_is_only_added(void **state)
{
    (void)state;
    char *plain;
    char *colour;
    TEXT_OF(plain, 100, 0, kymo_report_print_tree(&t, report, 0, 0));
    TEXT_OF(colour, 100, 1, kymo_report_print_tree(&t, report, 0, 0));
    assert_null(strchr(plain, '\033'));
    assert_non_null(strchr(colour, '\033'));
    /* Without the escapes it is the same. */
    char *to = colour;
    for (char *from = colour; *from; from++) {
        if (*from == '\033')
            from += strcspn(from, "m");
        else
            *to++ = *from;
    }
    *to = '\0';
    assert_string_equal(plain, colour);
    free(plain);
    free(colour);
}

static void the_tree_leaves_out_what_is_small(void **state)
{
    (void)state;
    char *text;
    TEXT_OF(text, 0, 0, kymo_report_print_tree(&t, report, 0, 0.7));
    assert_string_equal(text, " total    self  calls\n"
                              "100.0 %  10.0 %  main\n"
                              " 90.0 %  30.0 %    work\n"
                              "                 1 node below 70.0 % is not shown\n");
    free(text);
    TEXT_OF(text, 0, 0, kymo_report_print_tree(&t, report, 1, 0));
    assert_string_equal(text, " total    self  calls\n"
                              "100.0 %  10.0 %  main\n"
                              "                 ... and 2 more lines (--top 0 shows all)\n");
    free(text);
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    (void)state;
    char *text;
    TEXT_OF(text, 0, 0, kymo_report_print_threads(&t, profile, report, 0));
    assert_non_null(strstr(text, "100.0 %      100 ms         3    100.0 %  tic?tac (7)\n"));
    free(text);
    TEXT_OF(text, 0, 0, kymo_terminal_print(&t, "a\033[31mb\177", 0, KYMO_CUT_END, 0));
    assert_string_equal(text, "a?[31mb?");
    free(text);
}

static void text_is_cut_by_characters(void **state)
{
    (void)state;
    char *text;
    TEXT_OF(text, 0, 0, kymo_terminal_print(&t, "äöüß", 3, KYMO_CUT_END, 0));
    assert_string_equal(text, "äö…");
    free(text);
    TEXT_OF(text, 0, 0, kymo_terminal_print(&t, "äöüß", 3, KYMO_CUT_START, 0));
    assert_string_equal(text, "…üß");
    free(text);
    TEXT_OF(text, 0, 0, kymo_terminal_print(&t, "äö", 4, KYMO_CUT_END, 1));
    assert_string_equal(text, "äö  ");
    free(text);
}

static void the_quality_line(void **state)
{
    (void)state;
    char *text;
    kymo_lost lost[] = {{"no block", 2}, {"depot full", 0}};
    kymo_meta meta = {
        .size = sizeof meta, .engine = "timer", .engine_reason = "asked for", .period_ns = 4000000};
    kymo_quality q = {.size = sizeof q,
                      .samples = 1000,
                      .achieved = 0.99999,
                      .sampled_rate = NAN,
                      .stacks_complete = 1,
                      .frames_symbolized = 0.5,
                      .lost = lost,
                      .lost_count = 2,
                      .disturbed = 3};
    OK(kymo_profile_set_meta(profile, &meta));
    OK(kymo_profile_set_quality(profile, &q));
    TEXT_OF(text, 0, 0, kymo_report_print_quality(&t, profile));
    /* 99.999 % is not all of it. */
    assert_string_equal(
        text, "quality: timer (asked for), every 4 ms, 1000 samples, 99.9 % of CPU time "
              "accounted for, 100.0 % of stacks complete, 50.0 % of frames with symbols named, "
              "2 lost (no block: 2), 3 calls disturbed\n");
    free(text);
}

/* The quality of `samples` that were taken of `cpu_ns`; tick_ns 0: not known. */
static void set_rate(const char *engine, uint64_t period_ns, uint64_t tick_ns, uint64_t samples,
                     uint64_t cpu_ns)
{
    kymo_meta meta = {
        .size = sizeof meta, .engine = engine, .period_ns = period_ns, .tick_ns = tick_ns};
    kymo_quality q = {.size = sizeof q,
                      .samples = samples,
                      .achieved = NAN,
                      .sampled_rate = (double)(samples * period_ns) / (double)cpu_ns,
                      .stacks_complete = NAN,
                      .frames_symbolized = NAN};
    kymo_process process = *kymo_profile_process(profile, 0);
    process.cpu_ns = cpu_ns;
    OK(kymo_profile_update_process(profile, 0, &process));
    OK(kymo_profile_set_meta(profile, &meta));
    OK(kymo_profile_set_quality(profile, &q));
}

static void the_tick_is_in_the_quality_line(void **state)
{
    (void)state;
    static const struct {
        const char *engine;
        uint64_t period_ns, tick_ns;
        const char *says;
    } cases[] = {
        {"timer", 1000000, 4000000, "quality: timer, every 4 ms (1 ms asked), 250 samples"},
        {"timer", 10000000, 4000000, "quality: timer, every 10 ms, 250 samples"},
        {"timer", 1000000, 0, "quality: timer, every 1 ms, 250 samples"},
        {"timer", 0, 4000000, "quality: timer, 250 samples"},
        {"perf", 1000000, 4000000, "quality: perf, every 1 ms, 250 samples"},
        {"\033[31mred", 0, 0, "quality: ?[31mred, 250 samples"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text;
        set_rate(cases[i].engine, cases[i].period_ns, cases[i].tick_ns, 250, 1000000000);
        TEXT_OF(text, 0, 0, kymo_report_print_quality(&t, profile));
        text[strlen(cases[i].says)] = '\0';
        assert_string_equal(text, cases[i].says);
        free(text);
    }
}

/* One line, and only if it matters: what it means, and what can be done here. */
static void few_samples(void **state)
{
    (void)state;
    static const struct {
        const char *engine;
        uint64_t period_ns, tick_ns, samples, cpu_ns;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {"timer", 1000000, 4000000, 29, 116000000,
         "! few samples: 29 stand for 116 ms of CPU time, so small shares may be chance; the timer "
         "engine cannot go below the kernel's tick of 4 ms: record longer, or allow the perf "
         "engine "
         "(sysctl kernel.perf_event_paranoid=2; kymo doctor tells more)\n"},
        {"timer", 100000, 4000000, 250, 1000000000,
         "! few samples: 250 stand for 1.00 s of CPU time, 2.5 % of those asked for, so small "
         "shares "
         "may be chance; the timer engine cannot go below the kernel's tick of 4 ms: record "
         "longer, "
         "or allow the perf engine (sysctl kernel.perf_event_paranoid=2; kymo doctor tells "
         "more)\n"},
        {"perf", 1000000, 4000000, 50, 1000000000,
         "! few samples: 50 stand for 1.00 s of CPU time, 5.0 % of those asked for, so small "
         "shares "
         "may be chance; record longer; kymo doctor tells what may hold samples back\n"},
        {"perf", 10000000, 4000000, 20, 200000000,
         "! few samples: 20 stand for 200 ms of CPU time, so small shares may be chance; record "
         "longer, or sample more often (--cpu=PERIOD)\n"},
        {"timer", 1000000, 4000000, 1, 200000000,
         "! few samples: 1 stands for 200 ms of CPU time, 0.5 % of those asked for, so small "
         "shares "
         "may be chance; the timer engine cannot go below the kernel's tick of 4 ms: record "
         "longer, "
         "or allow the perf engine (sysctl kernel.perf_event_paranoid=2; kymo doctor tells "
         "more)\n"},
        {"timer", 1000000, 4000000, 30, 120000000, NULL}, /* a quarter, and enough of them */
        {"timer", 1000000, 4000000, 10, 40000000, NULL},  /* few, of a short program */
        {"timer", 1000000, 4000000, 0, 20000000, NULL},   /* hardly ran */
        {"perf", 1000000, 4000000, 100, 1000000000, NULL},
        {"", 0, 0, 3, 1000000000, NULL}, /* was not sampled by time */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text;
        set_rate(cases[i].engine, cases[i].period_ns, cases[i].tick_ns, cases[i].samples,
                 cases[i].cpu_ns);
        TEXT_OF(text, 0, 0, kymo_report_print_few(&t, profile, "! "));
        assert_string_equal(text, cases[i].says ? cases[i].says : "");
        free(text);
    }
}

/* One line, and only if it matters. */
static void code_without_symbols(void **state)
{
    (void)state;
    char *text;
    kymo_report *with;
    uint32_t frame;
    uint32_t stack;
    TEXT_OF(text, 0, 0, kymo_report_print_unnamed(&t, report, "note: "));
    assert_string_equal(text, "");
    free(text);
    OK(kymo_profile_add_frame(profile, 0, 0x99, KYMO_CATEGORY_AUTO, &frame));
    OK(kymo_profile_add_stack(profile, KYMO_NONE, frame, &stack));
    for (uint64_t i = 0; i < 2; i++) {
        OK(kymo_profile_add_sample(profile, 0, 2000 + i, stack, i ? 21000000 : 4000000,
                                   KYMO_SAMPLE_CPU, 0));
        OK(kymo_profile_finish(profile));
        OK(kymo_report_create(profile, NULL, &with));
        TEXT_OF(text, 0, 0, kymo_report_print_unnamed(&t, with, "note: "));
        assert_string_equal(text, i == 0
                                      ? ""
                                      : "note: 20 % of the time is in code without symbols, most "
                                        "of it in prog; its debug package would name it\n");
        free(text);
        kymo_report_destroy(with);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_table_in_a_pipe),
        T(the_table_fits_a_terminal),
        T(colour_is_only_added),
        T(the_tree_leaves_out_what_is_small),
        T(control_characters_do_not_reach_the_terminal),
        T(text_is_cut_by_characters),
        T(the_quality_line),
        T(the_tick_is_in_the_quality_line),
        T(few_samples),
        T(code_without_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
