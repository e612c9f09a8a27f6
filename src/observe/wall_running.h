/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_running.h - gives the ticks that found a thread running the stacks of its CPU samples.
 *
 * Layer:    observe
 * Flow:     wall.c's looks, the drain's CPU samples -> [wall_running] -> wall samples
 * Threads:  the recorder's main thread
 * Memory:   the caller's structure; it owns nothing
 * Signals:  not for handlers
 *
 * A tick gets the CPU sample of its thread that is nearest in time. The one behind it is read
 * later, so ticks wait in a short queue.
 */
#ifndef KYMO_OBSERVE_WALL_RUNNING_H
#define KYMO_OBSERVE_WALL_RUNNING_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/python_task.h"
#include "recording/events.h"

#define KYMO_WALL_RUNNING_MAX 16u

/* One for a thread; zeroed is empty. */
struct kymo_wall_running {
    struct {
        uint64_t from_ns, to_ns;
    } ticks[KYMO_WALL_RUNNING_MAX]; /* oldest first */
    uint32_t n;
    uint64_t cpu_time_ns; /* of its last CPU sample; 0: none yet */
    uint32_t cpu_stack;
    struct kymo_python_task cpu_task;
};

/* Where the samples go; task: that they are labelled with, NULL: none. */
struct kymo_wall_sink {
    kymo_err (*put)(void *context, const kymo_event_sample *sample,
                    const struct kymo_python_task *task);
    void *context;
};

/* A tick at to_ns found the thread running, of which nothing is written since from_ns. Those before
 * its first CPU sample that follow each other are one. When there is no room the oldest one goes
 * with what is known. */
KYMO_NODISCARD
kymo_err kymo_wall_running_add(struct kymo_wall_running *running, uint64_t from_ns, uint64_t to_ns,
                               const struct kymo_wall_sink *sink);
/* The thread has ended, at to_ns: what it did since the last tick is not known, and belongs to that
 * tick if it found it running. */
KYMO_NODISCARD
kymo_err kymo_wall_running_last(struct kymo_wall_running *running, uint64_t from_ns, uint64_t to_ns,
                                const struct kymo_wall_sink *sink);
/* A CPU sample of the thread; they come in the order of time. task: NULL: none. */
KYMO_NODISCARD
kymo_err kymo_wall_running_sample(struct kymo_wall_running *running, uint64_t time_ns,
                                  uint32_t stack, const struct kymo_python_task *task,
                                  const struct kymo_wall_sink *sink);
/* Ticks up to before_ns wait no longer for a CPU sample behind them, if there is one before them. A
 * thread's first one is waited for: whenever it comes, the thread has used less than a period of
 * its CPU clock until then, which is as near as samples are to each other. */
KYMO_NODISCARD
kymo_err kymo_wall_running_flush(struct kymo_wall_running *running, uint64_t before_ns,
                                 const struct kymo_wall_sink *sink);
/* No CPU sample will follow. */
KYMO_NODISCARD
kymo_err kymo_wall_running_end(struct kymo_wall_running *running,
                               const struct kymo_wall_sink *sink);

#endif
