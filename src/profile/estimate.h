/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h - estimates totals from sampled allocations, with confidence intervals.
 *
 * Layer:    profile
 * Threads:  any; no state
 * Signals:  not for handlers
 *
 * Sampling: each thread counts down bytes. When the count reaches 0, the allocation is sampled
 * ("drawn"), and the next count is an exponential variable of mean `rate`. This is memoryless: an
 * allocation of n bytes is drawn with p = 1 - e^(-n/rate), whatever was drawn before it. A drawn
 * one counts for 1/p allocations (Horvitz and Thompson, 1952). Sums of these weights, and of
 * weights times bytes, are unbiased for any selection of allocations that does not depend on what
 * was drawn. The variance of such a sum is estimated by the sum of w(w-1), or of bytes^2 w(w-1).
 */
#ifndef KYMO_PROFILE_ESTIMATE_H
#define KYMO_PROFILE_ESTIMATE_H

#include <stdint.h>

#include "recording/weight.h"

#define KYMO_ESTIMATE_CLASSES 20

/* Sums over sampled allocations: estimates and their variances. Objects are also summed by
 * class: class i holds the allocations with a weight in [2^i, 2^(i+1)); those of weight 1 are in
 * no class. */
struct kymo_estimate {
    double objects, bytes;
    double variance_objects, variance_bytes;
    uint64_t samples;
    uint64_t least_bytes; /* of the smallest allocation in any class; 0: there is none */
    double drawn_objects; /* lower bound: each one that was sampled */
    double drawn_bytes;
    double by_chance; /* random draws: each counts by the chance of not being drawn, 1 - 1/w */
    float class_objects[KYMO_ESTIMATE_CLASSES];
    float class_variance[KYMO_ESTIMATE_CLASSES];
};

/* Adds one allocation. */
void kymo_estimate_add(struct kymo_estimate *sum, uint64_t bytes, double weight);
/* Adds one allocation as an object only, without its bytes and draws. */
void kymo_estimate_add_object(struct kymo_estimate *sum, uint64_t bytes, double weight);
void kymo_estimate_merge(struct kymo_estimate *sum, const struct kymo_estimate *other);

/* The 95 % interval of a sum y of positive terms with variance v. The sum is treated as a gamma
 * variable with the shape of a count of a = y^2/v + 1/2 draws (Jeffreys' interval of a Poisson
 * count, with the cube root of Wilson and Hilferty): (v/y) a (1 - 1/(9a) -+ 1.96/(3 sqrt(a)))^3.
 * For v = 0: low = high = y.
 *
 * Its coverage is 95 % where each draw counts for about the same amount. That is so for bytes of
 * any mixture of sizes: a drawn small allocation counts for `rate` bytes, whatever its size. */
void kymo_estimate_interval(double y, double v, double *low, double *high);

/* The whole that a sum is a part of. */
struct kymo_estimate_whole {
    struct kymo_estimate sum;
    uint64_t rate; /* the largest mean distance of draws, in bytes; 0, 1: all were recorded */
    /* Exact counts; 0: not known. */
    double objects;
    double bytes;
};

/* An estimate with its 95 % interval. */
struct kymo_estimate_range {
    double value, low, high;
};

/* Whether an exact count of bytes agrees with the draws: it is within six standard errors of the
 * sum. A count that does not agree covers something else (for example times without recording),
 * and must not be used. */
int kymo_estimate_agrees(const struct kymo_estimate_whole *whole, double counted_bytes);

/* The range of a part of `whole`. If the whole was counted exactly, the difference between the
 * count and the draws is shared among the parts by their variances (a generalized regression
 * estimate), so that the parts add up to the count.
 *
 * low: as kymo_estimate_interval, but at least what was drawn. With less than 1.5 random draws
 * it is only that: rows without a draw are not shown, so one draw says nothing about a lower
 * bound. high: the same with half a draw of `rate` bytes more (without any draw, 2.5 draws), for
 * allocations of which few or none were drawn; but at most the exact count less what the other
 * parts have. */
void kymo_estimate_bytes(const struct kymo_estimate *part, const struct kymo_estimate_whole *whole,
                         struct kymo_estimate_range *range);

/* The same for objects. If sizes differ by a factor of a hundred, most objects may be small and
 * few of those drawn. So each class has an interval, and the deviations are added as squares
 * (method of variance estimates recovery: Zou and Donner, 2008). Two kinds of classes without a
 * draw may have had 1.35 draws (Jeffreys' 90 % interval of a count of 0): classes between those
 * with draws, and up to three smaller ones if the sizes drawn differ by as much. A part with
 * less than 4 random draws, or one that takes allocations of all sizes, may have objects of any
 * class of the whole. If more objects were counted than the draws explain, they may be of any
 * size. The lower bound is the mean of the one by classes and the one of the sum: the first is
 * too high, the second too low.
 *
 * takes_all_kinds: 1: the part is a whole view, 0: one row of it. The coverage is 93 to 97 % for
 * mixtures of all kinds of sizes, and higher where few were drawn (tests/unit/test_estimate.c). */
void kymo_estimate_objects(const struct kymo_estimate *part,
                           const struct kymo_estimate_whole *whole, int takes_all_kinds,
                           struct kymo_estimate_range *range);

#endif
