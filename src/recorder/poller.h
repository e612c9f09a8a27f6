/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poller.h - waits for many descriptors and a deadline, and calls who is responsible.
 *
 * Layer:    recorder
 * Flow:     sockets, pidfds, the bell -> [poller] -> their owners' functions
 * Threads:  the recorder's main thread
 * Memory:   the caller owns the sources; each must stay until it is removed
 * Signals:  not for handlers; a signal ends the wait
 */
#ifndef KYMO_RECORDER_POLLER_H
#define KYMO_RECORDER_POLLER_H

#include <signal.h>
#include <stdint.h>

#include "base/error.h"

struct kymo_poll_source {
    int fd;
    /* Called when fd can be read, or its other end is gone. It may remove and free its own source,
     * and any other. */
    kymo_err (*ready)(void *context);
    void *context;
};

/* The poller's descriptor; -1 (errno). The caller closes it. */
int kymo_poller_open(void);
KYMO_NODISCARD
kymo_err kymo_poller_add(int poller, struct kymo_poll_source *source);
/* To be called before fd is closed. */
void kymo_poller_remove(int poller, const struct kymo_poll_source *source);

/* Waits until something is ready, until until_ns (CLOCK_MONOTONIC) or for a signal that mask (NULL:
 * the present one) lets in, and serves what is ready: a bounded number, so that the caller's own
 * work is not put off for ever. */
KYMO_NODISCARD
kymo_err kymo_poller_wait(int poller, uint64_t until_ns, const sigset_t *mask);

#endif
