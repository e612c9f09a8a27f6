/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bell.h - a futex by which any thread of any recorded process wakes the recorder.
 *
 * Layer:    recorder
 * Flow:     capture/thread.c: word, futex -> [bell] -> poller
 * Threads:  a thread waits on the futex; all functions are for the recorder's main thread
 * Memory:   a page that all recorded processes can write: it only says that there is something to
 *           read
 * Signals:  not for handlers
 *
 * Programs keep no descriptor of ours, so they wake the recorder by a futex; the recorder also
 * waits for descriptors. A process that rings all the time wakes it at most every
 * KYMO_BELL_PAUSE_NS.
 */
#ifndef KYMO_RECORDER_BELL_H
#define KYMO_RECORDER_BELL_H

#include <stdint.h>

#include "base/error.h"

#define KYMO_BELL_BYTES 4096u
#define KYMO_BELL_PAUSE_NS 100000u

typedef struct kymo_bell kymo_bell;

KYMO_NODISCARD
kymo_err kymo_bell_open(kymo_bell **out, kymo_error *detail);
void kymo_bell_close(kymo_bell *bell);
/* The page's descriptor, to be sent to programs. */
int kymo_bell_memory(const kymo_bell *bell);
/* A descriptor that is readable after a ring. */
int kymo_bell_event(const kymo_bell *bell);
/* Makes it unreadable until the next ring. */
void kymo_bell_hear(const kymo_bell *bell);

#endif
