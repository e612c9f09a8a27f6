/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the program that `record` and `agent` run.
 *
 * Layer:    cli; above launch
 * Flow:     argv -> [program] -> launch.h
 * Threads:  the only one
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_PROGRAM_H
#define KYMO_CLI_PROGRAM_H

#include "launch/launch.h"
#include "launch/precheck.h"

struct kymo_program {
    char **argv; /* as it was typed */
    int quiet;
    int run_anyway; /* unrecorded, where it cannot be recorded */
    char **words;   /* to run: argv, or `NAME script` for `#!/usr/bin/env NAME` (precheck.h) */
    kymo_precheck precheck;
    char preload[PATH_MAX];
    const char *outside; /* why it is sampled from outside; NULL: our library is in it */
    pid_t running;       /* the process that runs it already; 0: it is to be started */
    char *command;       /* of that process; argv points into it */
};

/* Sets words, preload and outside. Returns -1 to go on, else an exit status, whose reason has been
 * printed. options: what is recorded; of its engine, whether samples may come from outside.
 * may_watch: whether they may else. */
int kymo_program_check(struct kymo_program *program, const kymo_options *options, int may_watch);
/* The same for what this process runs: sets argv and words, too. */
int kymo_program_check_running(struct kymo_program *program, const char *pid,
                               const kymo_options *options);
void kymo_program_deinit(struct kymo_program *program);
/* As the program's own shell would see it; launch.h's interrupted is 128 + SIGINT. */
int kymo_program_exit_status(const kymo_launch_result *result);
/* Of a program that could not be started. */
int kymo_program_start_status(const kymo_error *detail);

/* One line on standard error; returns status. */
int kymo_say_failed(const char *message, int status);
/* Sets the level of messages (log=) of a recorder. */
void kymo_program_set_log_level(const kymo_options *options);

#endif
