/* SPDX-License-Identifier: Apache-2.0 */
#include "options/args.h"

#include <string.h>

#include "unit.h"

#define ARGS(command_, options_, stop, ...)                            \
    char *argv[] = {__VA_ARGS__, NULL};                                \
    kymo_args args = {.argv = argv,                                    \
                      .argc = (int)(sizeof argv / sizeof argv[0]) - 1, \
                      .command = (command_),                           \
                      .stop_at_operand = (stop),                       \
                      .options = (options_)};                          \
    kymo_arg arg;                                                      \
    kymo_error e

static void settings_switches_and_program(void **state)
{
    (void)state;
    kymo_options o;
    kymo_options_init(&o);
    ARGS(KYMO_IN_RECORD, &o, 1, "--cpu=2ms", "-fq", "-o", "a.json", "--engine", "timer", "--",
         "prog", "-o", "--cpu");
    assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
    assert_int_equal(arg.kind, KYMO_ARG_SWITCH);
    assert_int_equal(arg.switch_id, KYMO_SWITCH_FORCE);
    assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
    assert_int_equal(arg.switch_id, KYMO_SWITCH_QUIET);
    assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
    assert_int_equal(arg.switch_id, KYMO_SWITCH_OUTPUT);
    assert_string_equal(arg.value, "a.json");
    assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
    assert_int_equal(arg.kind, KYMO_ARG_END);
    assert_string_equal(args.argv[args.next], "prog");
    assert_int_equal(o.cpu_period_ns, 2000000);
    assert_int_equal(o.engine, KYMO_ENGINE_TIMER);
}

static void the_program_needs_no_dashes(void **state)
{
    (void)state;
    kymo_options o;
    kymo_options_init(&o);
    ARGS(KYMO_IN_RECORD, &o, 1, "--cpu", "sleep", "--cpu=x");
    assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
    assert_int_equal(arg.kind, KYMO_ARG_END);
    assert_string_equal(args.argv[args.next], "sleep");
    assert_int_equal(o.given, 1ull << KYMO_OPTION_CPU);
}

static void operands_between_switches(void **state)
{
    (void)state;
    ARGS(KYMO_IN_CONVERT, NULL, 0, "in.kymo", "-oa.folded", "--output=b.json", "-", "--", "-x");
    static const struct {
        kymo_arg_kind kind;
        const char *value;
    } want[] = {{KYMO_ARG_OPERAND, "in.kymo"},
                {KYMO_ARG_SWITCH, "a.folded"},
                {KYMO_ARG_SWITCH, "b.json"},
                {KYMO_ARG_OPERAND, "-"},
                {KYMO_ARG_OPERAND, "-x"}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(want); i++) {
        assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
        assert_int_equal(arg.kind, want[i].kind);
        assert_string_equal(arg.value, want[i].value);
    }
    assert_int_equal(kymo_args_next(&args, &arg, &e), KYMO_OK);
    assert_int_equal(arg.kind, KYMO_ARG_END);
}

static void expect_error(unsigned command, char *first, char *second, kymo_err err,
                         const char *message)
{
    kymo_options o;
    kymo_options_init(&o);
    char *argv[] = {first, second, NULL};
    kymo_args args = {.argv = argv,
                      .argc = second ? 2 : 1,
                      .command = command,
                      .options = command == KYMO_IN_RECORD ? &o : NULL};
    kymo_arg arg;
    kymo_error e;
    assert_int_equal(kymo_args_next(&args, &arg, &e), err);
    assert_string_equal(e.message, message);
}

static void errors_name_the_argument(void **state)
{
    (void)state;
    expect_error(KYMO_IN_RECORD, "--forse", NULL, KYMO_E_NOT_FOUND,
                 "unknown option '--forse'; did you mean '--force'?");
    expect_error(KYMO_IN_RECORD, "--egnine=perf", NULL, KYMO_E_NOT_FOUND,
                 "unknown option '--egnine'; did you mean '--engine'?");
    expect_error(KYMO_IN_REPORT, "--engine=perf", NULL, KYMO_E_NOT_FOUND,
                 "unknown option '--engine'");
    expect_error(KYMO_IN_REPORT, "-f", NULL, KYMO_E_NOT_FOUND, "unknown option '-f'");
    expect_error(KYMO_IN_REPORT, "-\x01", NULL, KYMO_E_NOT_FOUND,
                 "unknown option, byte 0x01 after '-'");
    expect_error(KYMO_IN_REPORT, "--tree=1", NULL, KYMO_E_INVALID,
                 "option '--tree' takes no value");
    expect_error(KYMO_IN_RECORD, "-o", NULL, KYMO_E_INVALID, "option '-o' needs a value: -o FILE");
    expect_error(KYMO_IN_RECORD, "--output", NULL, KYMO_E_INVALID,
                 "option '--output' needs a value: --output FILE");
    expect_error(KYMO_IN_RECORD, "--depth", "few", KYMO_E_INVALID,
                 "option depth: 'few' is not a whole number: it takes from 8 to 4096");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_switches_and_program),
        cmocka_unit_test(the_program_needs_no_dashes),
        cmocka_unit_test(operands_between_switches),
        cmocka_unit_test(errors_name_the_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
