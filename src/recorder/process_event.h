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

/* What names a process. Zeroes: nothing. */
struct kymo_process_facts {
    pid_t pid, parent; /* parent 0: not known */
    uint64_t start_ns;
    char *command; /* its arguments, each with its NUL; from malloc */
    size_t command_bytes;
};

/* Reads the command line of facts->pid, and its parent if that is 0. On KYMO_E_NOMEM the former is
 * empty. */
KYMO_NODISCARD
kymo_err kymo_process_facts_read(struct kymo_process_facts *facts);
/* The same with a command line that is known. */
KYMO_NODISCARD
kymo_err kymo_process_facts_take(struct kymo_process_facts *facts, const char *command,
                                 size_t bytes);
void kymo_process_facts_deinit(struct kymo_process_facts *facts);

/* Writes the event of process `number`. exe: the path of its executable, may be "". */
KYMO_NODISCARD
kymo_err kymo_process_event_write(const kymo_event_handler *events, void *context, uint32_t number,
                                  const struct kymo_process_facts *facts, const char *exe);

/* The parent of a process; 0: not known. start_ns (may be NULL): when the process began. It is
 * rounded down, since the kernel gives it in ticks. */
pid_t kymo_process_parent(pid_t pid, uint64_t *start_ns);

#endif
