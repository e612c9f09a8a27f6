/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - runs a program under the recorder until it ends.
 *
 * Layer:    launch; above sys, options, buffer, recording.h
 * Flow:     cli/cmd_record.c -> [launch] -> .kymo file
 * Threads:  one launch in a process at a time, from its only thread
 * Memory:   the caller owns both structures
 * Signals:  not for handlers; takes over SIGINT, SIGTERM, SIGCHLD and others while it runs
 */
#ifndef KYMO_LAUNCH_LAUNCH_H
#define KYMO_LAUNCH_LAUNCH_H

#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "options/options.h"

struct kymo_tree_change;

/* Changes settings of the recording (recorder/tree.h). */
typedef kymo_err kymo_launch_change(void *context, const struct kymo_tree_change *change,
                                    kymo_error *detail);

/* An interval that has ended, of a recording that has several. */
struct kymo_launch_interval {
    int fd;                    /* the recording of it, complete; the callee closes it */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t start_realtime_ns, end_realtime_ns;
    int is_last;
    kymo_error missed; /* code not KYMO_OK: by this the recording broke off before its end */
};

/* Who wants a recording in intervals. All functions are called by kymo_launch, in its thread. */
struct kymo_launch_intervals {
    /* When the present interval is to end (CLOCK_MONOTONIC). */
    uint64_t (*due_ns)(void *context);
    /* It has ended. *next: an empty file for the next one, which kymo_launch gives back by a later
     * call; not asked for after the last one. */
    kymo_err (*ended)(void *context, const struct kymo_launch_interval *interval, int *next,
                      kymo_error *detail);
    /* In each round, some 50 times a second, and when a child process has ended. */
    void (*round)(void *context, uint64_t now_ns);
    /* The program has been started. */
    void (*started)(void *context, pid_t pid);
    /* `kymo control flush`: the present interval is due from now on. */
    void (*flush)(void *context);
    /* `kymo control status`: writes members of the object that the answer is. */
    void (*status)(void *context, kymo_json *json);
    /* `kymo control set=`: settings are to be others. Those of the recording are changed by
     * `change`, before any other. */
    kymo_err (*set)(void *context, const char *text, kymo_launch_change *change,
                    void *change_context, kymo_error *detail);
    void *context;
};

/* A process that runs, and wants to be recorded from now on. */
struct kymo_launch_join {
    pid_t pid;
    /* It may attach by this socket. */
    kymo_err (*opened)(void *context, const char *socket, kymo_error *detail);
    /* Whether the recording is to end, while the process goes on. Asked in each round. change: as
     * of kymo_launch_intervals.set. */
    int (*shall_stop)(void *context, kymo_launch_change *change, void *change_context);
    void *context;
};

typedef struct kymo_launch_options {
    char *const *argv;           /* argv[0] is searched in PATH; NULL-terminated */
    const kymo_options *options; /* settings of the recording */
    int spool;                   /* where the .kymo is written: a file, which is emptied */
    const char *preload_path;    /* libkymo-preload.so; see paths.h */
    const char *outside;         /* why it is sampled from outside, without that; NULL: it is not */
    pid_t running;          /* argv is what this process runs, which is sampled from outside; 0:
                             * argv is started */
    int quiet;              /* no message but errors */
    int stands_for_program; /* what other processes send us is passed on (launch_signals.h) */
    const struct kymo_launch_intervals *intervals; /* NULL: the recording is one, in spool */
    const struct kymo_launch_join
        *join; /* NULL: argv is started; else it is that of this process */
} kymo_launch_options;

typedef struct kymo_launch_result {
    int wait_status;      /* as wait4 gives it */
    pid_t pid;            /* of the program */
    uint64_t cpu_ns;      /* user + system, without children */
    uint64_t spool_bytes; /* size of the .kymo */
    int interrupted;      /* stopped by the user before the program ended */
} kymo_launch_result;

/* Whether programs may be sampled from outside here, as options wish. */
int kymo_launch_can_watch(const kymo_options *options);
/* The same of this process, 0: this very one; on failure errno says why not. */
int kymo_launch_can_watch_process(pid_t pid);

/* Runs the program to its end. On KYMO_OK *result is filled and the recording is in the spool,
 * however the program ended. On error the program was not started, or (result->pid != 0) ran but
 * its recording is broken off: what there is of it is in the spool. */
KYMO_NODISCARD
kymo_err kymo_launch(const kymo_launch_options *launch, kymo_launch_result *result,
                     kymo_error *detail);

#endif
