/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h - from blocks that were drawn to all that there were, and how far to trust that.
 *
 * Layer:    profile
 * Threads:  any; no state
 * Signals:  not for handlers
 *
 * A thread draws a block whenever as many bytes have been asked for as an exponential variable of
 * mean `rate` says, which is drawn anew after each: memoryless, so that a block of n bytes is drawn
 * with p = 1 - e^(-n/rate), whatever came before. It stands for 1/p blocks (Horvitz and Thompson,
 * 1952): sums of weights, and of weights times bytes, are unbiased over any choice of blocks that
 * does not look at whether they were drawn. The variance of such a sum is estimated by the sum of
 * w(w-1), or of bytes^2 w(w-1).
 */
#ifndef KYMO_PROFILE_ESTIMATE_H
#define KYMO_PROFILE_ESTIMATE_H

#include <stdint.h>

/* Sums over blocks: estimates, and the variances of them. */
struct kymo_estimate {
    double objects, bytes;
    double variance_objects, variance_bytes;
    uint64_t samples;
};

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

/* Adds one block. */
void kymo_estimate_add(struct kymo_estimate *sum, uint64_t bytes, double weight);
void kymo_estimate_merge(struct kymo_estimate *sum, const struct kymo_estimate *other);

/* The interval of 95 % of a sum y of positive terms with variance v: as many draws as tell the
 * same, a = y^2/v + 1/2, taken for a gamma variable (Jeffreys' interval of a Poisson count, by
 * Wilson and Hilferty's cube root): (v/y) a (1 - 1/(9a) -+ 1.96/(3 sqrt(a)))^3. v of 0: low = high
 * = y.
 *
 * It holds the truth as often as it says where draws count for like amounts: bytes of any mixture
 * of sizes (a draw of small blocks is worth `rate` bytes whatever they are), objects of like sizes.
 * Objects of sizes that differ a hundredfold are another thing: most of them are small, and few or
 * none of these are drawn, which nothing in the sample can tell. */
void kymo_estimate_interval(double y, double v, double *low, double *high);

#endif
