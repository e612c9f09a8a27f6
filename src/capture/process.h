/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - makes what the hot half knows of a process (state.h) out of a session.
 *
 * Layer:    capture
 * Flow:     connect.c -> [process] -> hooks and handlers
 * Threads:  one that is alone: the constructor's, or a forked child's first
 * Memory:   one mapping, made at start and used again by a forked child, which finds it wiped
 * Signals:  take is safe; map is for start
 */
#ifndef KYMO_CAPTURE_PROCESS_H
#define KYMO_CAPTURE_PROCESS_H

#include "capture/connect.h"
#include "capture/state.h"

/* Maps the state for sessions of this plan and depth, and sets what no session says. NULL: no
 * address space. */
struct kymo_capture_process *kymo_process_map(const struct kymo_attachment *attachment);

/* Sets what the session says; from here on the process captures. */
KYMO_SIGNAL_SAFE void kymo_process_take(struct kymo_capture_process *process,
                                        const struct kymo_attachment *attachment);

#endif
