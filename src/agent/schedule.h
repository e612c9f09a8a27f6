/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - when an interval of a recording ends.
 *
 * Layer:    agent
 * Flow:     the clock -> [schedule] -> agent.c
 * Threads:  one owner
 * Memory:   the caller's structure
 * Signals:  not for handlers
 *
 * Times are of CLOCK_MONOTONIC, so a clock that is set does not move them. Intervals end at fixed
 * distances from the first. After a late end (the machine slept, the recorder got no CPU) the next
 * one is the first that leaves at least half an interval: no burst of short profiles.
 */
#ifndef KYMO_AGENT_SCHEDULE_H
#define KYMO_AGENT_SCHEDULE_H

#include <stdint.h>

struct kymo_schedule {
    uint64_t interval_ns; /* not 0 */
    uint64_t due_ns;      /* when the present interval ends */
};

void kymo_schedule_start(struct kymo_schedule *schedule, uint64_t interval_ns, uint64_t now_ns);
/* The present interval has ended now: at its time, later, or earlier (a flush). */
void kymo_schedule_ended(struct kymo_schedule *schedule, uint64_t now_ns);

#endif
