/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - an interval becomes a profile for each process, not one of all.
 *
 * Layer:    agent
 * Flow:     interval.c, in a worker: encodes each -> [split], a socket -> agent.c: hands each on
 * Threads:  one on each side
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * How many processes there are is known to the worker alone, and only when it has read the
 * interval. So it makes the files, and sends their descriptors.
 */
#ifndef KYMO_AGENT_SPLIT_H
#define KYMO_AGENT_SPLIT_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/interval.h"
#include "kymo/profile.h"

#define KYMO_SPLIT_PROCESSES 512u /* of an interval; of more there is an error */
#define KYMO_SPLIT_NAME_MAX 64u

/* A file of one process. */
struct kymo_split_part {
    uint32_t file; /* which of kymo_interval_work.files it stands for */
    int32_t pid;
    char name[KYMO_SPLIT_NAME_MAX]; /* of the process; ends with a NUL */
};

/* Writes the files of this part of the profile into work->files. */
typedef kymo_err kymo_split_encode(const struct kymo_interval_work *work,
                                   const kymo_profile *profile, kymo_error *detail);

/* In the worker: encodes and sends what each process has; of the last interval also of the first
 * process if it has nothing. */
KYMO_NODISCARD
kymo_err kymo_split(const struct kymo_interval_work *work, const kymo_profile *profile,
                    kymo_split_encode *encode, kymo_error *detail);
/* In the agent: the next one that has come, whose descriptor is the caller's. 0: none has. */
int kymo_split_take(int socket, struct kymo_split_part *part, int *fd);

#endif
