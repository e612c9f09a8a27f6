/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "launch/paths.h"
#include "sys/proc_file.h"

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

/* Than CPU samples. */
static int wants_more(const kymo_options *options)
{
    return options->alloc_bytes || options->wall_period_ns ||
           options->trace != KYMO_TRACE_CHOICE_OFF;
}

int kymo_program_check(struct kymo_program *p, const kymo_options *options, int may_watch)
{
    kymo_error detail;
    kymo_precheck_program(p->argv[0], getenv("PATH"), &p->precheck);
    if (p->precheck.outside[0] && may_watch && kymo_launch_can_watch(options)) {
        p->outside = p->precheck.outside;
        p->words = words_to_run(p);
        if (!p->quiet && wants_more(options))
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

/* argv of its command line; a process that has none (it has ended, or is the kernel's) is refused.
 */
static int read_command(struct kymo_program *p)
{
    enum { COMMAND_BYTES = 64 << 10 };
    p->command = malloc(COMMAND_BYTES);
    size_t bytes = p->command ? kymo_proc_file_read(p->command, COMMAND_BYTES, "/proc/%d/cmdline",
                                                    (int)p->running)
                              : 0;
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += p->command[i] == '\0' || i + 1 == bytes;
    p->words = n ? calloc(n + 1, sizeof *p->words) : NULL;
    if (!p->words)
        return 0;
    char *at = p->command;
    for (size_t i = 0; i < n; i++, at += strlen(at) + 1)
        p->words[i] = at;
    return 1;
}

int kymo_program_check_running(struct kymo_program *p, const char *pid, const kymo_options *options)
{
    char text[128];
    uint64_t number;
    if (kymo_parse_u64(pid, strlen(pid), &number) != KYMO_OK || number == 0 || number > INT_MAX)
        return kymo_usage_error(KYMO_IN_RECORD, "-p: '%.40s' is not the number of a process", pid);
    p->running = (pid_t)number;
    if (!read_command(p)) {
        snprintf(text, sizeof text, "process %d: there is none, or it is one of the kernel's",
                 (int)p->running);
        return kymo_say_failed(text, KYMO_EXIT_USAGE);
    }
    p->argv = p->words;
    p->outside = "it ran before";
    if (!kymo_launch_can_watch(options))
        return kymo_say_failed("-p takes perf events, which are not permitted here, or not with "
                               "this --engine (kymo doctor says why); start the program under "
                               "Kymo: kymo record -- PROGRAM",
                               KYMO_EXIT_USAGE);
    if (!kymo_launch_can_watch_process(p->running)) {
        snprintf(text, sizeof text, "process %d may not be sampled: %s", (int)p->running,
                 errno == EACCES || errno == EPERM
                     ? "it is another user's, or has gained privileges"
                     : strerror(errno));
        return kymo_say_failed(text, KYMO_EXIT_USAGE);
    }
    if (!p->quiet && wants_more(options))
        kymo_fprint(stderr, "kymo: of a process that runs already only CPU samples are recorded\n");
    return -1;
}

void kymo_program_deinit(struct kymo_program *p)
{
    free(p->command);
    p->command = NULL;
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
