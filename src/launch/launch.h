/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - runs a program under the recorder until it ends.
 *
 * Layer:    launch; above sys, options, buffer, recording.h
 * Flow:     cli/cmd_record.c -> [launch] -> .kymo file
 * Threads:  one launch in a process at a time, from its only thread
 * Memory:   the caller owns both structures
 * Signals:  not for handlers; takes over SIGINT, SIGTERM and SIGCHLD while it runs
 */
#ifndef KYMO_LAUNCH_LAUNCH_H
#define KYMO_LAUNCH_LAUNCH_H

#include <sys/types.h>

#include "base/error.h"
#include "options/options.h"

typedef struct kymo_launch_options {
    char *const *argv;           /* argv[0] is searched in PATH; NULL-terminated */
    const kymo_options *options; /* settings of the recording */
    int spool;                   /* where the .kymo is written: a file, which is emptied */
    const char *preload_path;    /* libkymo-preload.so; see paths.h */
    int quiet;                   /* no message but errors */
} kymo_launch_options;

typedef struct kymo_launch_result {
    int wait_status;      /* as wait4 gives it */
    pid_t pid;            /* of the program */
    uint64_t cpu_ns;      /* user + system, without children */
    uint64_t spool_bytes; /* size of the .kymo */
    int interrupted;      /* stopped by the user before the program ended */
} kymo_launch_result;

/* Runs the program to its end. On KYMO_OK *result is filled and the recording is in the spool,
 * however the program ended. On error the program was not started, or (result->pid != 0) ran but
 * its recording is broken off: what there is of it is in the spool. */
KYMO_NODISCARD
kymo_err kymo_launch(const kymo_launch_options *launch, kymo_launch_result *result,
                     kymo_error *detail);

#endif
