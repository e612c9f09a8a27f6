/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "recorder/control.h"

/* Returns 0 for what is no process id. */
static pid_t parse_pid(const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && pid > 0 && pid <= INT32_MAX
               ? (pid_t)pid
               : 0;
}

static int ask(pid_t pid, const char *markers, int quiet)
{
    struct kymo_control_answer answer;
    kymo_error detail = {0};
    if (kymo_control_ask(pid, markers, &answer, &detail) != KYMO_OK) {
        fprintf(stderr, "kymo: %s\n", detail.message);
        return KYMO_EXIT_FAILED;
    }
    if (quiet)
        return KYMO_EXIT_OK;
    printf("%u process%s told", answer.told, answer.told == 1 ? "" : "es");
    if (answer.later)
        printf(", %u did not answer: %s when %s, or with %s next full buffer", answer.later,
               answer.later == 1 ? "it switches" : "they switch",
               answer.later == 1 ? "it runs" : "they run", answer.later == 1 ? "its" : "their");
    printf("\n");
    return kymo_flush_output();
}

int kymo_cmd_control(int argc, char **argv)
{
    kymo_arg arg;
    kymo_error detail;
    kymo_options options;
    pid_t pid = 0;
    int quiet = 0;
    int asked = 0;
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_CONTROL};
    kymo_options_init(&options);
    for (;;) {
        if (kymo_args_next(&args, &arg, &detail) != KYMO_OK)
            return kymo_usage_error(KYMO_IN_CONTROL, "%s", detail.message);
        if (arg.kind == KYMO_ARG_END)
            break;
        if (arg.kind == KYMO_ARG_OPERAND) {
            if (strncmp(arg.value, "markers=", strlen("markers=")) != 0)
                return kymo_usage_error(KYMO_IN_CONTROL, "'%.60s' is not markers=LIST", arg.value);
            const char *list = arg.value + strlen("markers=");
            if (kymo_options_set(&options, "markers", strlen("markers"), list, strlen(list),
                                 &detail) != KYMO_OK)
                return kymo_usage_error(KYMO_IN_CONTROL, "%s", detail.message);
            asked = 1;
        } else if (arg.switch_id == KYMO_SWITCH_HELP) {
            return kymo_help_asked(KYMO_IN_CONTROL);
        } else if (arg.switch_id == KYMO_SWITCH_QUIET) {
            quiet = 1;
        } else if (arg.switch_id == KYMO_SWITCH_PID) {
            pid = parse_pid(arg.value);
            if (pid == 0)
                return kymo_usage_error(KYMO_IN_CONTROL, "'%.60s' is not a process id", arg.value);
        }
    }
    if (!asked)
        return kymo_usage_error(KYMO_IN_CONTROL, "what is to change? kymo control markers=LIST");
    return ask(pid, kymo_options_list(&options, KYMO_OPTION_MARKERS), quiet);
}
