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

#define KYMO_ESTIMATE_CLASSES 20

/* Sums over blocks: estimates, and the variances of them. Of objects by class, too: class i has the
 * blocks that stand for 2^i of their like and more, but for less than 2^(i+1); not those that stand
 * for themselves alone. */
struct kymo_estimate {
    double objects, bytes;
    double variance_objects, variance_bytes;
    uint64_t samples;
    uint64_t least_bytes; /* of a block in any class; 0: there is none */
    float class_objects[KYMO_ESTIMATE_CLASSES];
    float class_variance[KYMO_ESTIMATE_CLASSES];
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
/* Adds what it is as an object alone: neither its bytes nor a sample. */
void kymo_estimate_add_object(struct kymo_estimate *sum, uint64_t bytes, double weight);
void kymo_estimate_merge(struct kymo_estimate *sum, const struct kymo_estimate *other);

/* The interval of 95 % of a sum y of positive terms with variance v: as many draws as tell the
 * same, a = y^2/v + 1/2, taken for a gamma variable (Jeffreys' interval of a Poisson count, by
 * Wilson and Hilferty's cube root): (v/y) a (1 - 1/(9a) -+ 1.96/(3 sqrt(a)))^3. v of 0: low = high
 * = y.
 *
 * It holds the truth as often as it says where draws count for like amounts: bytes of any mixture
 * of sizes (a draw of small blocks is worth `rate` bytes whatever they are). */
void kymo_estimate_interval(double y, double v, double *low, double *high);

/* That of the objects. Where sizes differ a hundredfold, most objects may be small, and few or none
 * of these drawn. So each class has an interval of its own, and deviations are added as squares
 * (the method of variance estimates recovery: Zou and Donner, 2008). A class between those that
 * were drawn, and up to three of smaller blocks where sizes are seen to differ by as much, may have
 * had none by chance: 1.35 draws of it (Jeffreys' 90 % of a count of 0). The lower end is the mean
 * of that and of the interval of the sum as above: one is too high, the other too low. Of like
 * sizes both are the same.
 *
 * It holds the truth with 93 to 97 % in mixtures of sizes of all kinds
 * (tests/unit/test_estimate.c). What it cannot know of is a kind of small blocks of which none was
 * drawn while all that were drawn are alike. */
void kymo_estimate_objects_interval(const struct kymo_estimate *sum, double *low, double *high);

#endif
