/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_ticks.h - when wall mode looks at the threads.
 *
 * Layer:    observe
 * Flow:     the clock -> [wall_ticks] -> wall.c
 * Threads:  one at a time
 * Memory:   the caller's structure
 * Signals:  not for handlers
 *
 * From half a period to one and a half after each other, so that what the program does in time with
 * them is seen in proportion.
 */
#ifndef KYMO_OBSERVE_WALL_TICKS_H
#define KYMO_OBSERVE_WALL_TICKS_H

#include <stdint.h>

struct kymo_wall_ticks {
    uint64_t period_ns;
    uint64_t last_ns, next_ns;
    uint64_t random;
    uint32_t still; /* ticks since any thread was found to have run */
};

void kymo_wall_ticks_init(struct kymo_wall_ticks *ticks, uint64_t period_ns, uint64_t seed);
/* From now on. */
void kymo_wall_ticks_set_period(struct kymo_wall_ticks *ticks, uint64_t period_ns, uint64_t now_ns);
/* Whether one is due; if so, next_ns is the one after it. */
int kymo_wall_ticks_due(struct kymo_wall_ticks *ticks, uint64_t now_ns);
/* A process has begun, which may end before the next one: that comes sooner then, but not more than
 * four of them in a period. */
void kymo_wall_ticks_hasten(struct kymo_wall_ticks *ticks, uint64_t now_ns);
/* A thread has run since the last one. */
void kymo_wall_ticks_moved(struct kymo_wall_ticks *ticks);

#endif
