/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finisher.h - writes the files that a recorder cannot write any more, since it was killed.
 *
 * Layer:    cli; above recorder/worker.h and recorder/spool.h
 * Flow:     cli/cmd_record.c -> [finisher] -> a process that sleeps, and does the recorder's last
 *           work if the recorder ends without it
 * Threads:  the only one
 * Memory:   the process has a copy of the caller's memory at the time of the start
 * Signals:  not for handlers, except kymo_finisher_kill
 */
#ifndef KYMO_CLI_FINISHER_H
#define KYMO_CLI_FINISHER_H

#include "recorder/spool.h"
#include "recorder/worker.h"

struct kymo_finisher {
    const kymo_spool *spool;
    void (*finish)(void *context);
    void *context;
    int recorder; /* pidfd */
    struct kymo_worker worker;
};

/* Starts the process. If this one ends before kymo_finisher_stop, and the spool still has its name,
 * it calls finish(context) and ends, too. The first three members are set, all others 0; *f stays
 * where it is. Call it before other threads run, and before the program does. */
KYMO_NODISCARD
kymo_err kymo_finisher_start(struct kymo_finisher *f);
/* Ends the process. Nothing where it was not started. */
void kymo_finisher_stop(struct kymo_finisher *f);
/* The same for a signal handler that ends this process afterwards. */
KYMO_SIGNAL_SAFE
void kymo_finisher_kill(const struct kymo_finisher *f);

#endif
