/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_clock.h - from a session's clock to CLOCK_MONOTONIC, by pairs of both that were read at
 * once.
 *
 * Layer:    buffer (cold)
 * Flow:     each round -> [anchors] -> times of records
 * Threads:  one owner
 * Memory:   the anchors, at most KYMO_DRAIN_ANCHORS
 * Signals:  not for handlers
 *
 * A record of this round lies between the last anchor and the one of now, and the ratio of that
 * stretch is its own, whatever suspend or migration did to the counter before. What lies further
 * back (the start of a scope that ends now) lies between two older anchors: by the ratio of now, an
 * error of 100 ns in an anchor would move it by 100 ns for each round since.
 */
#ifndef KYMO_BUFFER_DRAIN_CLOCK_H
#define KYMO_BUFFER_DRAIN_CLOCK_H

#include <stdint.h>

#include "base/vec.h"
#include "sys/clock.h"

/* When there are so many, every second one is forgotten. */
#define KYMO_DRAIN_ANCHORS 4096u

struct kymo_drain_anchor {
    uint64_t clock, ns;
};

struct kymo_drain_clock {
    enum kymo_clock_kind kind;
    double ns_per_tick; /* since the last one of anchors */
    uint64_t first_ns;  /* nothing happened before */
    struct kymo_drain_anchor now;
    struct kymo_drain_anchor last;
    KYMO_VEC(struct kymo_drain_anchor) anchors; /* before the last one; the oldest first */
};

void kymo_drain_clock_init(struct kymo_drain_clock *c, enum kymo_clock_kind kind);
/* What happened before the session was made, but not before this, keeps its time. */
void kymo_drain_clock_since(struct kymo_drain_clock *c, uint64_t earliest_ns);
void kymo_drain_clock_deinit(struct kymo_drain_clock *c);

/* At a round's beginning: a new anchor. At its end: what comes next lies behind it. */
void kymo_drain_clock_take(struct kymo_drain_clock *c);
void kymo_drain_clock_keep(struct kymo_drain_clock *c);

/* Of something that happened: after the session was made, or what was said instead; and not in the
 * future. */
uint64_t kymo_drain_clock_ns(const struct kymo_drain_clock *c, uint64_t clock);
/* Of any time that the program speaks of. */
uint64_t kymo_drain_clock_any_ns(const struct kymo_drain_clock *c, uint64_t clock);

#endif
