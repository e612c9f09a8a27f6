/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight.h - how many blocks one that was drawn stands for.
 *
 * Layer:    recording; above nothing
 * Flow:     events of allocations -> [weight] -> live_blocks.c, profile/estimate.h
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

/* The chance that a block of so many bytes is drawn; 1 for rate 1 (each one is). 0 bytes count as
 * none: such a block is drawn at rate 1 alone. */
double kymo_estimate_chance(uint64_t bytes, uint64_t rate);

/* How many blocks this one stands for: 1 / chance; 0 if it could not be drawn. */
double kymo_estimate_weight(uint64_t bytes, uint64_t rate);

/* The weight of a block after a resize. weight: the one that it had, 0 if it was not drawn; grown:
 * bytes that it has more than its usable size before, 0 if none, by which it was drawn with q = 1 -
 * e^(-grown/rate). Of a block that was: w + (1 - w) q / p(bytes); of one that is drawn only now: 1
 * / p(bytes). The expected weight of a block over all draws stays 1 by that, whatever its history.
 */
double kymo_estimate_resized(double weight, uint64_t bytes, uint64_t grown, uint64_t rate);

/* The same of a resize as it is recorded. */
double kymo_estimate_after_resize(double weight, const kymo_event_resize *e);
/* The weight, before that resize, of a block whose beginning was lost: as if it had been drawn with
 * the size that it had. */
double kymo_estimate_before_resize(const kymo_event_resize *e);

#endif
