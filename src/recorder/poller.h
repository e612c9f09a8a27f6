/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poller.h - waits for many descriptors and a deadline, and calls the function of each ready one.
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
    /* Called when fd is readable, or closed at the other end. It may remove and free its own
     * source and any other. */
    kymo_err (*ready)(void *context);
    void *context;
};

/* The poller's descriptor; -1 (errno). The caller closes it. */
int kymo_poller_open(void);
KYMO_NODISCARD
kymo_err kymo_poller_add(int poller, struct kymo_poll_source *source);
/* Call before fd is closed. */
void kymo_poller_remove(int poller, const struct kymo_poll_source *source);

/* Waits until a descriptor is ready, until until_ns (CLOCK_MONOTONIC), or for a signal that mask
 * (NULL: the current one) lets in. Serves ready descriptors: a bounded number, so that the
 * caller can go on. */
KYMO_NODISCARD
kymo_err kymo_poller_wait(int poller, uint64_t until_ns, const sigset_t *mask);

#endif
