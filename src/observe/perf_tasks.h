/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_tasks.h - tells at once when a thread has made another one, or a process, has called exec,
 * or has mapped code.
 *
 * Layer:    observe
 * Flow:     kernel -> [perf_tasks] -> host_outside.c
 * Threads:  the recorder's one thread
 * Memory:   a ring of one page
 * Signals:  not for handlers
 *
 * For processes that our library is not in: nothing in them tells. It is an event that counts
 * nothing, whose descriptor is readable when the ring has something to say.
 */
#ifndef KYMO_OBSERVE_PERF_TASKS_H
#define KYMO_OBSERVE_PERF_TASKS_H

#include <sys/types.h>

#include "observe/perf_ring.h"

struct kymo_perf_tasks {
    int fd; /* -1: none */
    struct kymo_perf_ring ring;
};

/* What the thread has done since it was asked before. */
struct kymo_perf_tasks_told {
    int anything; /* 0, where the descriptor was readable: the thread has ended */
    int threads, processes, execs;
    int code; /* has mapped some */
};

/* Returns whether it will tell. */
int kymo_perf_tasks_open(struct kymo_perf_tasks *tasks, pid_t tid);
struct kymo_perf_tasks_told kymo_perf_tasks_read(struct kymo_perf_tasks *tasks);
void kymo_perf_tasks_close(struct kymo_perf_tasks *tasks);

#endif
