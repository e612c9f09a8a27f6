/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   arguments, KYMO_OPTIONS -> checks of reporters and program -> launch, in intervals -> the last
 *   profiles -> exit as the program did
 *
 * The program is never harmed by what happens to its profiles: nothing here changes its exit status
 * but a program that could not be started.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reporter_callback.h"
#include "agent/reporting.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/joined.h"
#include "cli/program.h"
#include "launch/launch_signals.h"

struct agent_command {
    struct kymo_agent_settings settings;
    struct kymo_program program;
    struct kymo_joined joined;
    const char *join; /* the link to the program that started us; NULL: there is none */
    kymo_error wrong; /* with KYMO_OPTIONS; code KYMO_OK: nothing */
    int quiet;
};

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct agent_command *c)
{
    kymo_arg arg;
    kymo_error detail;
    const char *environment = getenv("KYMO_OPTIONS");
    kymo_args args = {.argv = argv + 1,
                      .argc = argc - 1,
                      .command = KYMO_IN_AGENT,
                      .stop_at_operand = 1,
                      .options = &c->settings.recording};
    const struct kymo_flag flags[] = {
        {KYMO_SWITCH_QUIET, &c->quiet},
        {KYMO_SWITCH_RUN_ANYWAY, &c->program.run_anyway},
    };
    kymo_agent_settings_init(&c->settings);
    if (environment && kymo_agent_settings_parse(&c->settings, environment, &detail) != KYMO_OK)
        c->wrong = detail;
    for (;;) {
        int status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg);
        if (status >= 0)
            return status;
        if (arg.kind == KYMO_ARG_END)
            break;
        if (arg.switch_id == KYMO_SWITCH_JOIN)
            c->join = arg.value;
        else if (kymo_agent_settings_set(&c->settings, kymo_switch_table[arg.switch_id].name,
                                         arg.value, &detail) != KYMO_OK)
            return kymo_usage_error(KYMO_IN_AGENT, "--%s", detail.message);
    }
    kymo_program_set_log_level(&c->settings.recording);
    /* A program that started us hears by its link what is wrong. */
    if (c->join)
        return -1;
    if (c->wrong.code != KYMO_OK)
        return kymo_usage_error(KYMO_IN_AGENT, "KYMO_OPTIONS: %s", c->wrong.message);
    c->program.argv = argv + 1 + args.next;
    c->program.quiet = c->quiet;
    if (!c->program.argv[0])
        return kymo_usage_error(KYMO_IN_AGENT,
                                "which program? kymo agent --reporter=local:DIR -- PROGRAM");
    if (kymo_agent_settings_check(&c->settings, &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_AGENT, "%s", detail.message);
    return -1;
}

/* What became of it, where that is not what was asked for. */
static void say_ending(const kymo_reporting *agent, int is_done, int quiet)
{
    struct kymo_reporting_counts s;
    kymo_reporting_count(agent, &s);
    if (!is_done)
        kymo_fprint(stderr,
                    "kymo: the last profiles were not delivered in time (--deadline); %" PRIu64
                    " were delivered before\n",
                    s.delivered);
    else if (s.broken || s.dropped)
        kymo_fprint(stderr,
                    "kymo: %" PRIu64 " profiles were delivered, %" PRIu64 " dropped, %" PRIu64
                    " intervals lost: %s\n",
                    s.delivered, s.dropped, s.broken, s.reason.message);
    else if (!quiet)
        kymo_info("%" PRIu64 " profiles were delivered", s.delivered);
}

static int run(const struct agent_command *c, kymo_reporting *agent)
{
    kymo_error detail = {0};
    kymo_launch_result result;
    kymo_launch_options launch = {.argv = c->program.words,
                                  .options = &c->settings.recording,
                                  .preload_path = c->program.preload,
                                  .quiet = 1,
                                  .stands_for_program = 1,
                                  .intervals = kymo_reporting_intervals(agent)};
    const char *address = kymo_reporting_listens_at(agent);
    if (address && !c->quiet)
        kymo_fprint(stderr, "kymo: profiles can be asked for at %s\n", address);
    launch.spool = kymo_reporting_open_file(agent, &detail);
    if (launch.spool < 0)
        return kymo_say_failed(detail.message, KYMO_EXIT_FAILED);
    kymo_err err = kymo_launch(&launch, &result, &detail);
    signal(SIGPIPE, SIG_IGN);
    if (err != KYMO_OK)
        kymo_fprint(stderr, "kymo: %s\n", detail.message[0] ? detail.message : kymo_err_text(err));
    if (result.pid == 0)
        return kymo_program_start_status(&detail);
    say_ending(agent, kymo_reporting_finish(agent, c->settings.deadline_ns), c->quiet);
    return kymo_program_exit_status(&result);
}

/* ---- a program that runs, and started us ---- */

static kymo_err record_joined(struct agent_command *c, kymo_error *detail)
{
    struct kymo_joined *j = &c->joined;
    kymo_launch_result result;
    kymo_launch_options launch = {
        .argv = j->argv, .options = &c->settings.recording, .quiet = 1, .join = &j->for_launch};
    *detail = c->wrong;
    KYMO_TRY(c->wrong.code);
    KYMO_TRY(kymo_agent_settings_check(&c->settings, detail));
    KYMO_TRY(kymo_reporting_create(&c->settings, j->argv, &kymo_reporting_real_system, &j->agent,
                                   detail));
    launch.intervals = kymo_reporting_intervals(j->agent);
    launch.spool = kymo_reporting_open_file(j->agent, detail);
    if (launch.spool < 0)
        return KYMO_E_IO;
    KYMO_TRY(kymo_launch(&launch, &result, detail));
    uint64_t deadline_ns = j->is_stopped ? j->deadline_ns : c->settings.deadline_ns;
    if (!kymo_reporting_finish(j->agent, deadline_ns))
        return kymo_error_set(detail, KYMO_E_TIMEOUT, 0,
                              "the last profiles were not delivered in time");
    return KYMO_OK;
}

static int has_callback(const struct kymo_agent_settings *s)
{
    int found = 0;
    for (uint32_t i = 0; i < s->n_reporters; i++)
        found |= s->reporters[i].kind == &kymo_reporter_callback;
    return found;
}

/* The program hears what went wrong; a program that has detached, or has ended, by a line. */
static int run_joined(struct agent_command *c)
{
    kymo_error detail = {0};
    kymo_err err = kymo_joined_open(&c->joined, c->join, has_callback(&c->settings), &detail);
    if (err != KYMO_OK)
        return kymo_usage_error(KYMO_IN_AGENT, "%s", detail.message);
    /* Messages go to the program's standard error, which may be gone. */
    signal(SIGPIPE, SIG_IGN);
    err = record_joined(c, &detail);
    if (err != KYMO_OK && detail.code != err)
        kymo_error_set(&detail, err, 0, "%s", kymo_err_text(err));
    if (err != KYMO_OK && c->joined.agent)
        kymo_warn("%s", detail.message);
    kymo_joined_end(&c->joined, &detail);
    kymo_reporting_destroy(c->joined.agent);
    return err == KYMO_OK ? KYMO_EXIT_OK : KYMO_EXIT_FAILED;
}

int kymo_cmd_agent(int argc, char **argv)
{
    static struct agent_command c;
    kymo_reporting *agent = NULL;
    kymo_error detail = {0};
    int status = parse(argc, argv, &c);
    if (status >= 0)
        return status;
    if (c.join)
        return run_joined(&c);
    kymo_launch_be_init();
    status = kymo_program_check(&c.program, &c.settings.recording, 0);
    if (status >= 0)
        return status;
    if (kymo_reporting_create(&c.settings, c.program.argv, &kymo_reporting_real_system, &agent,
                              &detail) != KYMO_OK)
        status = kymo_say_failed(detail.message, KYMO_EXIT_FAILED);
    else
        status = run(&c, agent);
    kymo_reporting_destroy(agent);
    kymo_program_deinit(&c.program);
    return status;
}
