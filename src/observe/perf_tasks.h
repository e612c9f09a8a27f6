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

#define KYMO_PERF_TASKS_TOLD 16

/* What the thread has done since it was asked before. */
struct kymo_perf_tasks_told {
    int has_ended;
    int threads, execs;
    int code;      /* has mapped some */
    int processes; /* how many; the first ones are */
    pid_t process[KYMO_PERF_TASKS_TOLD];
    int is_cut; /* there was no room for all that it did */
};

/* Returns whether it will tell. */
int kymo_perf_tasks_open(struct kymo_perf_tasks *tasks, pid_t tid);
struct kymo_perf_tasks_told kymo_perf_tasks_read(struct kymo_perf_tasks *tasks);
void kymo_perf_tasks_close(struct kymo_perf_tasks *tasks);

#endif
