/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pointer.h - whether the calling thread's thread-local storage is libc's.
 *
 * Layer:    capture
 * Flow:     on_signal.c, hooks -> [thread_pointer] -> before the first use of a __thread variable
 * Threads:  any, also those that libc knows nothing of
 * Signals:  safe, but for init
 *
 * A thread may run with a thread pointer (on x86-64, the FS base) that is not libc's: a raw clone
 * with CLONE_SETTLS, a runtime that brings its own threads, code that sets it. On such a thread
 * the address of a __thread variable of ours belongs to other data, or is not mapped.
 */
#ifndef KYMO_CAPTURE_THREAD_POINTER_H
#define KYMO_CAPTURE_THREAD_POINTER_H

#include <stdint.h>

#include "base/attr.h"

/* At start, on a thread of libc's. tid_offset: as struct kymo_capture_process has it. */
void kymo_thread_pointer_init(uint64_t tid_offset);

/* The calling thread is libc's, as its beginning in a hook says; behind a filter nothing else could
 * tell it later. */
KYMO_SIGNAL_SAFE void kymo_thread_pointer_add(void);

/* Whether __thread variables are the calling thread's. 1 before init. may_ask: system calls are
 * allowed; without them a thread that never was asked about is taken for one that is not libc's. */
KYMO_SIGNAL_SAFE int kymo_thread_pointer_is_libc(int may_ask);

#endif
