/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - reads a command's arguments by the table of options.
 *
 * Layer:    options; above base; used by cli/
 * Flow:     argv -> [args] -> cli/cmd_*.c
 * Threads:  one owner
 * Memory:   values point into argv
 * Signals:  not for handlers
 *
 * Settings (KYMO_OPTION rows) go straight into a kymo_options; switches (KYMO_SWITCH rows) and
 * operands come back one by one. "--name=value", "--name value", "-n value", "-nvalue" and "-fq"
 * are understood; names are never abbreviated, so that a new option cannot change what an old
 * script means.
 */
#ifndef KYMO_OPTIONS_ARGS_H
#define KYMO_OPTIONS_ARGS_H

#include "options/options.h"

/* The commands that a switch belongs to. */
enum {
    KYMO_IN_RECORD = 1u << 0,
    KYMO_IN_REPORT = 1u << 1,
    KYMO_IN_CONVERT = 1u << 2,
    KYMO_IN_DOCTOR = 1u << 3,
    KYMO_IN_CONTROL = 1u << 4,
    KYMO_IN_DIFF = 1u << 5,
    KYMO_IN_AGENT = 1u << 6,
};

typedef enum kymo_switch_id {
#define KYMO_SWITCH(id, letter, name, value, commands, help) KYMO_SWITCH_##id,
#include "options/options.def"
#undef KYMO_SWITCH
    KYMO_SWITCH_COUNT,
} kymo_switch_id;

typedef struct kymo_switch_info {
    const char *name;
    const char *value_name; /* NULL: the switch has no value */
    const char *help;
    unsigned commands;
    char letter; /* 0: none */
} kymo_switch_info;

extern const kymo_switch_info kymo_switch_table[KYMO_SWITCH_COUNT];

typedef enum kymo_arg_kind {
    KYMO_ARG_END,     /* nothing is left but what follows "--", at argv[next] */
    KYMO_ARG_SWITCH,  /* switch_id and value */
    KYMO_ARG_OPERAND, /* value */
} kymo_arg_kind;

typedef struct kymo_arg {
    kymo_arg_kind kind;
    kymo_switch_id switch_id;
    const char *value; /* NULL for a switch without one */
} kymo_arg;

typedef struct kymo_args {
    char *const *argv;     /* argv[argc] is NULL, as main has it */
    int argc;              /* */
    int next;              /* the first argument not yet looked at */
    unsigned command;      /* one of KYMO_IN_* */
    int stop_at_operand;   /* the first operand ends the options: it is a program */
    kymo_options *options; /* settings go here; NULL: this command has none */
    const char *cluster;   /* the rest of a "-fq", NULL between arguments */
    int after_dashes;      /* "--" was seen */
} kymo_args;

/* The next switch or operand. Settings are applied on the way. On error detail says in one line
 * what is wrong with which argument. With stop_at_operand the first operand is not consumed:
 * KYMO_ARG_END comes back and argv[next] is it. */
KYMO_NODISCARD
kymo_err kymo_args_next(kymo_args *args, kymo_arg *out, kymo_error *detail);

#endif
