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

#include "observe/watch_files.h"

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
