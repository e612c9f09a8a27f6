/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_files.h - what /proc says of one thread: schedstat, status and stat.
 *
 * Layer:    observe
 * Flow:     /proc/PID/task/TID/{schedstat,status,stat} -> [watch_files] -> watch_look.c
 * Threads:  one at a time
 * Memory:   the caller's structures; descriptors are kept while there are enough of them
 * Signals:  not for handlers
 *
 * Functions that read return 0 when there is nothing to be read, or it is not what the kernel
 * writes.
 */
#ifndef KYMO_OBSERVE_WATCH_FILES_H
#define KYMO_OBSERVE_WATCH_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "observe/watch.h"

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

#endif
