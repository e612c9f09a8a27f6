/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_look.h - a look at one thread: what it did since the look before, and where it is.
 *
 * Layer:    observe
 * Flow:     watch_files.c -> [watch_look] -> watch.c
 * Threads:  one at a time
 * Memory:   the caller's structure, with its thread's files
 * Signals:  not for handlers
 */
#ifndef KYMO_OBSERVE_WATCH_LOOK_H
#define KYMO_OBSERVE_WATCH_LOOK_H

#include <stdint.h>
#include <sys/types.h>

#include "observe/watch.h"

/* ---- watch_files.c: what /proc says of one thread: schedstat, status and stat ----
 *
 * Functions that read return 0 when there is nothing to be read, or it is not what the kernel
 * writes.
 */

/* Of a process. */
struct kymo_watch_folder {
    char path[64];
    int descriptor_limit; /* none above this number is kept */
    uint64_t reads;
};

/* Of a thread. */
struct kymo_watch_files {
    pid_t tid;
    int schedstat;
    int status;
    int stat; /* descriptors; -1: opened for each look */
};

#define KYMO_WATCH_NO_FILES(of_tid)                                \
    {                                                              \
        .tid = (of_tid), .schedstat = -1, .status = -1, .stat = -1 \
    }

void kymo_watch_close(struct kymo_watch_files *files);

int kymo_watch_read_schedstat(struct kymo_watch_folder *folder, struct kymo_watch_files *files,
                              uint64_t *run_ns, uint64_t *arrivals);
/* Sets state, voluntary and nonvoluntary. */
int kymo_watch_read_status(struct kymo_watch_folder *folder, struct kymo_watch_files *files,
                           struct kymo_watch_look *look);
/* From stat. */
int kymo_watch_read_state(struct kymo_watch_folder *folder, struct kymo_watch_files *files,
                          char *state);
/* From stat: on which CPU it is or was; -1: not to be read. */
int kymo_watch_read_cpu(const struct kymo_watch_folder *folder, pid_t tid);
/* Whether the thread is gone, and not only out of reach for want of a descriptor. */
int kymo_watch_is_gone(struct kymo_watch_folder *folder, struct kymo_watch_files *files);

/* ---- watch_look.c ---- */

struct kymo_watched {
    struct kymo_watch_files files;
    int is_known; /* last is of a look */
    struct kymo_watch_look last;
    uint64_t asleep_ns;   /* run_ns when it was last seen asleep; UINT64_MAX: it never was */
    int64_t off;          /* arrivals less departures while it is on no CPU, as far as is known */
    uint32_t short_looks; /* since one that read its switches */
};

/* Arrivals less departures, as that look found them. */
int64_t kymo_watch_difference(const struct kymo_watch_look *look);

/* Returns 0 when nothing consistent was to be read. in_short: a thread that sleeps keeps its
 * switches of the look before, but for each now and then. */
int kymo_watched_look(struct kymo_watch_folder *folder, struct kymo_watched *t, int in_short);
/* The same of a thread that an earlier round saw on its CPU and about to sleep, if it has not moved
 * since: if it still is as it was then, it sleeps. */
int kymo_watched_look_asleep(struct kymo_watch_folder *folder, struct kymo_watched *t);

#endif
