/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - work beside the recording, in a forked process.
 *
 * Layer:    recorder
 * Flow:     recorder -> [worker] -> a child that works and ends -> its result
 * Threads:  the recorder's main thread
 * Memory:   a page that both share, from start to the end of the worker
 * Signals:  not for handlers
 *
 * The child has a copy of the recorder's memory, so it can go on with its structures, and whatever
 * it does to them, the recorder does not see. It has the recorder's standard descriptors and those
 * that it is given: a perf event or a pidfd that stayed open in it would live on after the recorder
 * closed it.
 */
#ifndef KYMO_RECORDER_WORKER_H
#define KYMO_RECORDER_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What a worker tells besides its error. */
#define KYMO_WORKER_FIGURES 4u

struct kymo_worker_result {
    kymo_error error; /* code KYMO_OK: all went well */
    uint64_t figures[KYMO_WORKER_FIGURES];
};

struct kymo_worker_page;

struct kymo_worker {
    pid_t pid; /* 0: none */
    struct kymo_worker_page *page;
};

typedef kymo_err kymo_worker_work(void *context, struct kymo_worker_result *result);

/* fds: the descriptors that it needs, `count` of them. */
KYMO_NODISCARD
kymo_err kymo_worker_start(struct kymo_worker *worker, kymo_worker_work *work, void *context,
                           const int *fds, size_t count);
/* Whether it has ended: then *result is filled, and the worker can be started again. One that was
 * killed has KYMO_E_CLOSED. */
int kymo_worker_has_ended(struct kymo_worker *worker, struct kymo_worker_result *result);
/* Kills one that runs, and waits for its end. */
void kymo_worker_stop(struct kymo_worker *worker);

/* Makes the calling process, just forked from the recorder, independent of it: default actions of
 * signals, this priority, of the descriptors those that it needs. */
void kymo_worker_leave_recorder(int nice, const int *fds, size_t count);

#endif
