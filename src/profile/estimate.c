/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/estimate.h"

#include <math.h>

#define NORMAL_975 1.959963984540054 /* a normal variable is below it with 97.5 % */

double kymo_estimate_chance(uint64_t bytes, uint64_t rate)
{
    if (rate <= 1)
        return 1;
    return -expm1(-(double)bytes / (double)rate);
}

double kymo_estimate_weight(uint64_t bytes, uint64_t rate)
{
    double chance = kymo_estimate_chance(bytes, rate);
    return chance > 0 ? 1 / chance : 0;
}

double kymo_estimate_resized(double weight, uint64_t bytes, uint64_t grown, uint64_t rate)
{
    double alone = kymo_estimate_weight(bytes, rate);
    if (weight <= 0)
        return alone;
    if (grown == 0)
        return weight;
    /* Nothing grows by more than it then is, so q / p is at most 1. */
    double share = kymo_estimate_chance(grown < bytes ? grown : bytes, rate) * alone;
    return weight * (1 - share) + share;
}

void kymo_estimate_add(struct kymo_estimate *sum, uint64_t bytes, double weight)
{
    double size = (double)bytes;
    double variance = weight * (weight - 1);
    sum->objects += weight;
    sum->bytes += weight * size;
    sum->variance_objects += variance;
    sum->variance_bytes += variance * size * size;
    sum->samples++;
}

void kymo_estimate_merge(struct kymo_estimate *sum, const struct kymo_estimate *other)
{
    sum->objects += other->objects;
    sum->bytes += other->bytes;
    sum->variance_objects += other->variance_objects;
    sum->variance_bytes += other->variance_bytes;
    sum->samples += other->samples;
}

static double cube(double x)
{
    return x * x * x;
}

void kymo_estimate_interval(double y, double v, double *low, double *high)
{
    *low = *high = y;
    if (!(y > 0) || !(v > 0))
        return;
    double draws = y * y / v + 0.5;
    double middle = 1 - 1 / (9 * draws);
    double half = NORMAL_975 / (3 * sqrt(draws));
    double scale = v / y * draws;
    *low = middle > half ? scale * cube(middle - half) : 0;
    *high = scale * cube(middle + half);
}
