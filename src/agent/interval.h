/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval.h - one interval of a recording becomes the files that reporters want.
 *
 * Layer:    agent
 * Flow:     a segment, when its interval has ended -> [interval] (in a worker) -> files
 * Threads:  one
 * Memory:   the profile of the interval, in the worker
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_INTERVAL_H
#define KYMO_AGENT_INTERVAL_H

#include "agent/reporter.h"
#include "recorder/worker.h"

/* One for each reporter, or for each part. */
#define KYMO_AGENT_FILES (8u + KYMO_PART_COUNT)
#define KYMO_RECORDING_EXTENSION ".kymo"

/* A file for each format: where it is KYMO_RECORDING_EXTENSION, fd is the segment itself. That of a
 * part of which there is nothing stays empty. */
struct kymo_interval_file {
    enum kymo_part part;
    const char *extension;
    int fd;
};

struct kymo_interval_work {
    int segment; /* the recording of the interval, ended */
    int names;   /* what earlier intervals looked up (names_file.h), which is added to; 0: none */
    int is_last; /* it has files also if nothing happened in it */
    struct kymo_interval_file files[KYMO_AGENT_FILES];
    size_t n_files;
    int split; /* the socket of split.h: a file of each kind for each process; 0: one of all */
    int (*open_file)(void *context, kymo_error *detail); /* an empty one, for split */
    void *context;
};

/* Figures of the result. */
enum {
    KYMO_INTERVAL_IS_EMPTY, /* 1: nothing happened in it, and there are no files but of the last */
    KYMO_INTERVAL_LOST,     /* records that were lost in it */
    KYMO_INTERVAL_SAMPLES,
    KYMO_INTERVAL_HANDLER_NS, /* time in signal handlers of the program */
};

/* Writes the files, or counts alone if there are none. context: a kymo_interval_work. */
KYMO_NODISCARD
kymo_err kymo_interval_encode(void *context, struct kymo_worker_result *result);

#endif
