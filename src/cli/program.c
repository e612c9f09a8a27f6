/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "launch/paths.h"

int kymo_say_failed(const char *message, int status)
{
    kymo_fprint(stderr, "kymo: %s\n", message);
    return status;
}

void kymo_program_set_log_level(const kymo_options *options)
{
    static const kymo_log_level levels[] = {KYMO_LOG_ERROR, KYMO_LOG_WARN, KYMO_LOG_INFO,
                                            KYMO_LOG_DEBUG};
    kymo_log_set_level(levels[options->log_level]);
}

/* The program takes our place: it runs as if kymo had not been typed. */
static int run_without_recording(const struct kymo_program *p)
{
    kymo_fprint(stderr, "kymo: %s\n", p->precheck.reason);
    fputs("kymo: running it without recording\n", stderr);
    execvp(p->argv[0], p->argv);
    kymo_fprint(stderr, "kymo: %s: %s\n", p->argv[0], strerror(errno));
    return errno == ENOENT ? KYMO_EXIT_NOT_FOUND : KYMO_EXIT_NOT_EXECUTABLE;
}

/* `#!/usr/bin/env NAME` scripts run as `NAME script`, which env would do. */
static char **words_to_run(struct kymo_program *p)
{
    size_t n = 0;
    while (p->argv[n])
        n++;
    if (!p->precheck.env_interpreter[0])
        return p->argv;
    char **words = calloc(n + 2, sizeof *words);
    if (!words)
        return p->argv;
    words[0] = p->precheck.env_interpreter;
    words[1] = p->precheck.path;
    memcpy(words + 2, p->argv + 1, n * sizeof *words);
    return words;
}

int kymo_program_check(struct kymo_program *p, const kymo_options *options, int may_watch)
{
    kymo_error detail;
    kymo_precheck_program(p->argv[0], getenv("PATH"), &p->precheck);
    if (p->precheck.outside[0] && may_watch && kymo_launch_can_watch(options)) {
        p->outside = p->precheck.outside;
        p->words = words_to_run(p);
        if (!p->quiet && (options->alloc_bytes || options->wall_period_ns ||
                          options->trace != KYMO_TRACE_CHOICE_OFF))
            kymo_fprint(stderr,
                        "kymo: %s is sampled from outside, since %s: only its CPU samples are "
                        "recorded\n",
                        p->precheck.judged, p->outside);
        return -1;
    }
    switch (p->precheck.verdict) {
    case KYMO_PRECHECK_OK:
        if (p->precheck.warning[0] && !p->quiet)
            kymo_fprint(stderr, "kymo: %s\n", p->precheck.warning);
        break;
    case KYMO_PRECHECK_NOT_FOUND:
        return kymo_say_failed(p->precheck.reason, KYMO_EXIT_NOT_FOUND);
    case KYMO_PRECHECK_NOT_EXECUTABLE:
        return kymo_say_failed(p->precheck.reason, KYMO_EXIT_NOT_EXECUTABLE);
    case KYMO_PRECHECK_NOT_RECORDABLE:
        if (p->run_anyway)
            return run_without_recording(p);
        kymo_fprint(stderr, "kymo: %s (--run-anyway runs it unrecorded)\n", p->precheck.reason);
        return KYMO_EXIT_USAGE;
    }
    if (kymo_paths_preload(options->alloc_bytes != 0, p->preload, &detail) != KYMO_OK)
        return kymo_say_failed(detail.message, KYMO_EXIT_FAILED);
    p->words = words_to_run(p);
    return -1;
}

void kymo_program_deinit(struct kymo_program *p)
{
    if (p->words != p->argv)
        free(p->words);
    p->words = NULL;
}

int kymo_program_exit_status(const kymo_launch_result *result)
{
    if (result->interrupted)
        return 128 + SIGINT;
    if (WIFSIGNALED(result->wait_status))
        return 128 + WTERMSIG(result->wait_status);
    return WEXITSTATUS(result->wait_status);
}

int kymo_program_start_status(const kymo_error *detail)
{
    return detail->sys_errno == ENOENT   ? KYMO_EXIT_NOT_FOUND
           : detail->sys_errno == EACCES ? KYMO_EXIT_NOT_EXECUTABLE
                                         : KYMO_EXIT_FAILED;
}
