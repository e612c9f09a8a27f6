/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bell.h - one word by which any thread of any recorded process wakes the recorder.
 *
 * Layer:    recorder
 * Flow:     capture/thread.c: word, futex -> [bell] -> poller
 * Threads:  one of its own, which waits on the futex; the rest is the recorder's main thread's
 * Memory:   a page that all recorded processes may write: it says that there is something to look
 *           at, never what
 * Signals:  not for handlers
 *
 * Programs keep no descriptor of ours, so they wake by futex; the recorder waits for descriptors
 * besides. A process that rings without end is heard every KYMO_BELL_PAUSE_NS.
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
/* The page's descriptor, for the programs. */
int kymo_bell_memory(const kymo_bell *bell);
/* Can be read when it has rung. */
int kymo_bell_event(const kymo_bell *bell);
/* Makes it readable no more, until it rings again. */
void kymo_bell_hear(const kymo_bell *bell);

#endif
