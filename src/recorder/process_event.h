/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_event.h - records the event of a process, with facts from /proc.
 *
 * Layer:    recorder
 * Flow:     /proc/PID -> [process_event] -> recording writer
 * Threads:  any
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_PROCESS_EVENT_H
#define KYMO_RECORDER_PROCESS_EVENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "recording/events.h"

/* Writes the event of process `number`, which now has this pid. parent: 0 if it is to be found
 * out. */
KYMO_NODISCARD
kymo_err kymo_process_event_write(const kymo_event_handler *events, void *context, uint32_t number,
                                  pid_t pid, pid_t parent, uint64_t start_ns);

/* The parent of a process; 0: not known. start_ns (may be NULL): when the process began. It is
 * rounded down, since the kernel gives it in ticks. */
pid_t kymo_process_parent(pid_t pid, uint64_t *start_ns);

#endif
