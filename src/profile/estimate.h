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

#include "recording/weight.h"

#define KYMO_ESTIMATE_CLASSES 20

/* Sums over blocks: estimates, and the variances of them. Of objects by class, too: class i has the
 * blocks that stand for 2^i of their like and more, but for less than 2^(i+1); not those that stand
 * for themselves alone. */
struct kymo_estimate {
    double objects, bytes;
    double variance_objects, variance_bytes;
    uint64_t samples;
    uint64_t least_bytes; /* of a block in any class; 0: there is none */
    double drawn_objects; /* there were at least these: each one that was drawn */
    double drawn_bytes;
    double by_chance; /* draws, each by the chance that it had not to be: sum of 1 - 1/w */
    float class_objects[KYMO_ESTIMATE_CLASSES];
    float class_variance[KYMO_ESTIMATE_CLASSES];
};

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

/* All that a sum is a part of. */
struct kymo_estimate_whole {
    struct kymo_estimate sum;
    uint64_t rate; /* the largest mean of bytes between two draws; 0, 1: no chance was in it */
    /* Counted, each one; 0: not known. */
    double objects;
    double bytes;
};

/* An estimate with its interval of 95 %. */
struct kymo_estimate_range {
    double value, low, high;
};

/* Whether a count of bytes can be of what was drawn: it is within six standard errors of the sum.
 * One that is not is of something else (of times when nothing was recorded, too), and must not be
 * taken. */
int kymo_estimate_agrees(const struct kymo_estimate_whole *whole, double counted_bytes);

/* The range of a part of `whole`. Where the whole was counted, what the draws say too much or too
 * little of is shared among the parts by their variances (a generalized regression estimate), so
 * that parts add up to what was counted.
 *
 * low: kymo_estimate_interval's, but what was drawn at least; of less than 1.5 draws by chance that
 * alone (rows without a draw are not shown, so that one draw tells nothing of a lower bound).
 * high: the same with half a draw more of `rate` bytes, which is what a sum may hide of which few
 * or none were drawn (none: 2.5 draws); but not more than was counted less what others have. */
void kymo_estimate_bytes(const struct kymo_estimate *part, const struct kymo_estimate_whole *whole,
                         struct kymo_estimate_range *range);

/* The same of objects. Where sizes differ a hundredfold, most objects may be small, and few or none
 * of these drawn. So each class has an interval of its own, and deviations are added as squares
 * (the method of variance estimates recovery: Zou and Donner, 2008). Classes without a draw between
 * those that were drawn, and up to three of smaller blocks where sizes are seen to differ by as
 * much, may have had 1.35 draws (Jeffreys' 90 % of a count of 0). A part with less than 4 draws by
 * chance, or one that takes blocks of all kinds, may have what any class of the whole has; and
 * where more was counted than the draws tell of, blocks of any size. The lower end is the mean of
 * what the classes say and of the interval of the sum: one is too high, the other too low.
 *
 * takes_all_kinds: 1: all of a view, 0: a row of it. The interval holds the truth with 93 to 97 %
 * in mixtures of sizes of all kinds, and with more where few were drawn
 * (tests/unit/test_estimate.c). */
void kymo_estimate_objects(const struct kymo_estimate *part,
                           const struct kymo_estimate_whole *whole, int takes_all_kinds,
                           struct kymo_estimate_range *range);

#endif
