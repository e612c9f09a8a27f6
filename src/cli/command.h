/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the commands of kymo, and what they have in common.
 *
 * Layer:    cli
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_COMMAND_H
#define KYMO_CLI_COMMAND_H

#include <stdio.h>

#include "options/args.h"

/* Exit statuses of kymo itself. `record` returns the program's, and these two as shells do. */
enum {
    KYMO_EXIT_OK = 0,
    KYMO_EXIT_FAILED = 1,
    KYMO_EXIT_USAGE = 2, /* also: a program that cannot be recorded */
    KYMO_EXIT_ABOVE = 3, /* diff --fail-above: something grew by more */
    KYMO_EXIT_NOT_EXECUTABLE = 126,
    KYMO_EXIT_NOT_FOUND = 127,
};

typedef struct kymo_command {
    const char *name;
    unsigned mask; /* KYMO_IN_* */
    const char *summary;
    /* After "usage: kymo ", without the name of the command. */
    const char *arguments;
    const char *description;
    const char *examples;
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
} kymo_command;

/* All commands, in the order of help. */
extern const kymo_command kymo_commands[];
extern const size_t kymo_command_count;

const kymo_command *kymo_command_find(const char *name);

/* What `kymo --help` and `kymo help COMMAND` print. */
void kymo_help_print_all(FILE *to);
void kymo_help_print_command(FILE *to, const kymo_command *command);

/* One line on standard error that names what is wrong with the arguments, and where help is.
 * Returns KYMO_EXIT_USAGE. */
int kymo_usage_error(unsigned command, const char *fmt, ...) KYMO_PRINTF(2, 3);
/* -o of a command that writes one file: a second one is an error. Returns -1 to go on, else an exit
 * status. */
int kymo_take_only_output(const char **output, unsigned command, const char *path);
/* "--help" was asked for: prints it. Returns KYMO_EXIT_OK. */
int kymo_help_asked(unsigned command);

/* Switches that do no more than set an int to 1. */
struct kymo_flag {
    kymo_switch_id id;
    int *flag;
};
/* The next argument that is neither --help nor one of count flags; KYMO_ARG_END behind the last.
 * Returns -1 with *out, else an exit status. */
int kymo_take_arg(kymo_args *args, const struct kymo_flag *flags, size_t count, kymo_arg *out);

int kymo_cmd_record(int argc, char **argv);
int kymo_cmd_agent(int argc, char **argv);
int kymo_cmd_report(int argc, char **argv);
int kymo_cmd_diff(int argc, char **argv);
int kymo_cmd_convert(int argc, char **argv);
int kymo_cmd_control(int argc, char **argv);
int kymo_cmd_doctor(int argc, char **argv);

#endif
