/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.h - the dispatch engine: signals to threads that run at this moment, finer than the
 * kernel's tick and without privilege.
 *
 * Layer:    observe
 * Flow:     watch.c (who runs) -> [dispatch] -> signal in the program -> capture/on_signal.c
 * Threads:  has one of its own from the first add on; the calls are for the recorder's main thread
 * Memory:   its own tables; a slot must stay mapped until its thread is removed
 * Signals:  its thread has all of them blocked
 */
#ifndef KYMO_OBSERVE_DISPATCH_H
#define KYMO_OBSERVE_DISPATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/session.h"

/* Whether this kernel tells who runs, and there is a CPU beside the program's to ask it from. *why
 * (may be NULL): if not, a static text. */
int kymo_dispatch_probe(const char **why);

typedef struct kymo_dispatch kymo_dispatch;

KYMO_NODISCARD
kymo_err kymo_dispatch_create(uint64_t period_ns, kymo_dispatch **out);
void kymo_dispatch_destroy(kymo_dispatch *dispatch);

/* From now on. What it knows of threads is by the old period: they should be removed before. NULL
 * is allowed. */
void kymo_dispatch_set_period(kymo_dispatch *dispatch, uint64_t period_ns);

/* A thread of the program, and how it is called. */
struct kymo_dispatch_thread {
    pid_t pid, tid;
    int signal;
    uint64_t cookie;
    struct kymo_thread_slot *slot;
};

/* From now on the thread is sampled. A tid that is no thread of the process is KYMO_E_NOT_FOUND. */
KYMO_NODISCARD
kymo_err kymo_dispatch_add(kymo_dispatch *dispatch, const struct kymo_dispatch_thread *thread,
                           uint32_t *number);
/* From now on the thread gets this one; 0: none. */
void kymo_dispatch_set_signal(kymo_dispatch *dispatch, uint32_t number, int signo);
/* From now on the thread gets no signal, and its slot is not looked at. */
void kymo_dispatch_remove(kymo_dispatch *dispatch, uint32_t number);

#endif
