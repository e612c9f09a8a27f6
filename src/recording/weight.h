/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight.h - how many allocations a sampled one counts for.
 *
 * Layer:    recording; above nothing
 * Flow:     events of allocations -> [weight] -> live_allocations.c, profile/estimate.h
 * Threads:  any
 * Memory:   none
 * Signals:  not for handlers
 *
 * profile/estimate.h says why sums of these weights are right.
 */
#ifndef KYMO_RECORDING_WEIGHT_H
#define KYMO_RECORDING_WEIGHT_H

#include <stdint.h>

#include "recording/events_heap.h"

/* The probability that an allocation of this size is sampled; 1 for rate 1. It is 0 for 0 bytes,
 * except at rate 1. */
double kymo_estimate_chance(uint64_t bytes, uint64_t rate);

/* The number of allocations that this one counts for: 1 / probability; 0 if that is 0. */
double kymo_estimate_weight(uint64_t bytes, uint64_t rate);

/* The weight of an allocation after a resize. weight: the one before, 0 if it was not sampled;
 * grown: bytes by which it exceeds its usable size before, or 0. It is sampled for the growth
 * with q = 1 - e^(-grown/rate). If it was sampled before: w + (1 - w) q / p(bytes); if only now:
 * 1 / p(bytes). So the expected weight of an allocation over all draws stays 1, whatever its
 * history. */
double kymo_estimate_resized(double weight, uint64_t bytes, uint64_t grown, uint64_t rate);

/* The same for a recorded resize. */
double kymo_estimate_after_resize(double weight, const kymo_event_resize *e);
/* The weight before a resize, of an allocation whose begin was lost: as if it had been sampled
 * with its old size. */
double kymo_estimate_before_resize(const kymo_event_resize *e);

#endif
