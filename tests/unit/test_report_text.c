/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_text.h"

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
    for (uint32_t i = 0; i < 3; i++)
        OK(kymo_profile_add_sample(profile, thread, 1000 + i, stack, 30000000, KYMO_SAMPLE_WALL,
                                   0));
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

static uint32_t frame_of(uint64_t address, const char *name)
{
    kymo_function f = {.source = KYMO_NONE, .module = 0};
    kymo_line line = {.line = 1};
    uint32_t frame;
    OK(kymo_profile_add_string(profile, name, strlen(name), &f.name));
    OK(kymo_profile_add_function(profile, &f, &line.function));
    OK(kymo_profile_add_frame(profile, 0, address, KYMO_CATEGORY_AUTO, &frame));
    OK(kymo_profile_frame_set_lines(profile, frame, &line, 1, KYMO_NONE, 1));
    return frame;
}

/* A function that only calls others says nothing in a table of self. */
static void rows_without_time_are_left_out(void **state)
{
    (void)state;
    char *text;
    uint32_t stack;
    OK(kymo_profile_add_stack(profile, KYMO_NONE, frame_of(0x80, "only_calls"), &stack));
    OK(kymo_profile_add_stack(profile, stack, frame_of(0x81, "called"), &stack));
    OK(kymo_profile_add_sample(profile, 0, 2000, stack, 5000000, KYMO_SAMPLE_CPU, 0));
    OK(kymo_profile_finish(profile));
    kymo_report_destroy(report);
    OK(kymo_report_create(profile, NULL, &report));
    TEXT_OF(text, 0, 0, kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, 0, ""));
    assert_non_null(strstr(text, " called"));
    assert_null(strstr(text, "only_calls"));
    free(text);
    TEXT_OF(text, 0, 0, kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, 3, ""));
    assert_non_null(strstr(text, "... and 1 more\n"));
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
    /* Of wall time there is no CPU time to account for. */
    kymo_report *wall;
    const kymo_report_options options = {.size = sizeof options, .kind = KYMO_SAMPLE_WALL};
    OK(kymo_report_create(profile, &options, &wall));
    TEXT_OF(text, 0, 0, kymo_report_print_threads(&t, profile, wall, 0));
    assert_non_null(strstr(text, "  self    wall time   samples  thread (tid)\n"));
    assert_non_null(strstr(text, "100.0 %       90 ms         3  tic"));
    free(text);
    kymo_report_destroy(wall);
    TEXT_OF(text, 0, 0, kymo_terminal_print(&t, "a\033[31mb\177"));
    assert_string_equal(text, "a?[31mb?");
    free(text);
}

static void text_is_cut_by_characters(void **state)
{
    (void)state;
    char *text;
    TEXT_OF(text, 0, 0, kymo_terminal_print_cut(&t, "äöüß", 3, KYMO_CUT_END));
    assert_string_equal(text, "äö…");
    free(text);
    TEXT_OF(text, 0, 0, kymo_terminal_print_cut(&t, "äöüß", 3, KYMO_CUT_START));
    assert_string_equal(text, "…üß");
    free(text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_table_in_a_pipe),
        T(rows_without_time_are_left_out),
        T(the_table_fits_a_terminal),
        T(colour_is_only_added),
        T(the_tree_leaves_out_what_is_small),
        T(control_characters_do_not_reach_the_terminal),
        T(text_is_cut_by_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
