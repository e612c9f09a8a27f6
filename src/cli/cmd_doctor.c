/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "doctor/doctor.h"
#include "views/terminal.h"

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, int *json, const char **program)
{
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_DOCTOR};
    const struct kymo_flag flags[] = {{KYMO_SWITCH_JSON, json}};
    kymo_arg arg;
    for (;;) {
        int status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg);
        if (status >= 0 || arg.kind == KYMO_ARG_END)
            return status;
        if (*program)
            return kymo_usage_error(KYMO_IN_DOCTOR, "one program at a time: '%.60s' is a second",
                                    arg.value);
        *program = arg.value;
    }
}

static void print_checks(const kymo_checks *checks, const char *program)
{
    kymo_terminal t = kymo_terminal_of(stdout);
    int warnings = 0;
    for (size_t i = 0; i < checks->len; i++) {
        const kymo_check *check = &checks->data[i];
        const char *on = check->state == KYMO_CHECK_OK     ? kymo_terminal_good(&t)
                         : check->state == KYMO_CHECK_INFO ? ""
                         : check->state == KYMO_CHECK_WARN ? kymo_terminal_bold(&t)
                                                           : kymo_terminal_bad(&t);
        printf("%s%-4s%s  %-21s ", on, kymo_check_state_name(check->state), kymo_terminal_reset(&t),
               check->name);
        kymo_terminal_wrap(&t, 28, 28, check->text);
        if (check->advice[0]) {
            printf("%28s-> ", "");
            kymo_terminal_wrap(&t, 31, 31, check->advice);
        }
        warnings += check->state == KYMO_CHECK_WARN;
    }
    if (program) {
        putchar('\n');
        kymo_terminal_print(&t, program);
        puts(!kymo_checks_pass(checks) ? " cannot be recorded."
             : warnings                ? " can be recorded; but see the lines that begin with warn."
                                       : " can be recorded.");
        return;
    }
    printf("\n%s\n", kymo_checks_pass(checks) ? "Recording works here."
                                              : "Recording does not work here; see the lines "
                                                "that begin with fail.");
}

int kymo_cmd_doctor(int argc, char **argv)
{
    int json = 0;
    const char *program = NULL;
    kymo_checks checks = {0};
    int status = parse(argc, argv, &json, &program);
    if (status >= 0)
        return status;
    kymo_err err = program ? kymo_doctor_run_program(&checks, program) : kymo_doctor_run(&checks);
    if (err == KYMO_OK && json) {
        kymo_sink sink = kymo_stdout_sink();
        err = kymo_checks_write_json(&checks, &sink);
    } else if (err == KYMO_OK) {
        print_checks(&checks, program);
    }
    status = kymo_flush_output();
    if (err != KYMO_OK && status == KYMO_EXIT_OK) {
        fprintf(stderr, "kymo: %s\n", kymo_err_text(err));
        status = KYMO_EXIT_FAILED;
    }
    if (!kymo_checks_pass(&checks))
        status = KYMO_EXIT_FAILED;
    kymo_checks_deinit(&checks);
    return status;
}
