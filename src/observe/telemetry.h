/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry.h - what the system says of a process, as counters in the recording.
 *
 * Layer:    observe
 * Flow:     memory/ -> [telemetry] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   its own
 * Signals:  not for handlers
 *
 * Read from outside: the program does nothing for it. The first looks come quickly, so that a short
 * program has some, too. A counter is announced when it is first other than 0, with the 0 that it
 * was at the look before: what never happens has no track. What is the whole machine's or cgroup's
 * stands in the recorded program's own process alone,
 * and others are looked at once they have lived for a tenth of a second.
 */
#ifndef KYMO_OBSERVE_TELEMETRY_H
#define KYMO_OBSERVE_TELEMETRY_H

#include <sys/types.h>

#include "recording/events.h"

/* Numbers of counters and of their category: above those that a program's own have. */
#define KYMO_TELEMETRY_FIRST 65536u

typedef struct kymo_telemetry kymo_telemetry;

struct kymo_telemetry_config {
    const kymo_event_handler *events;
    void *context;
    uint64_t period_ns;
    const char *root; /* what all paths begin with, "" but in tests */
};

/* process: its number in the recording, which knows of it by now. is_program: it is what was
 * started by the recorder, or what that has become by exec. */
KYMO_NODISCARD
kymo_err kymo_telemetry_create(const struct kymo_telemetry_config *config, pid_t pid,
                               uint32_t process, int is_program, uint64_t now_ns,
                               kymo_telemetry **out);
/* NULL is none, here and below. */
void kymo_telemetry_destroy(kymo_telemetry *telemetry);
/* From now on it looks that often. NULL is allowed. */
void kymo_telemetry_set_period(kymo_telemetry *telemetry, uint64_t period_ns);
/* Reads and tells, if it is time to. */
KYMO_NODISCARD
kymo_err kymo_telemetry_round(kymo_telemetry *telemetry, uint64_t now_ns);
/* The process has ended: limits, peaks and the like, as they were last. */
KYMO_NODISCARD
kymo_err kymo_telemetry_finish(kymo_telemetry *telemetry);

#endif
