/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/estimate.h"

#include <math.h>

#define UNDRAWN_MOST 3 /* classes of smaller blocks than any that was drawn */
/* With so many draws of one class, the next one would have had half as many, and seldom none, if it
 * had as many blocks. */
#define DRAWS_TELLING 4
#define UNDRAWN_DRAWS 1.353          /* what a class may have had of which none was drawn */
#define SMALLEST_BYTES 16u           /* no class is of smaller blocks */
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

/* weight: 1 at least. */
static unsigned class_of(double weight)
{
    int exponent;
    (void)frexp(weight, &exponent);
    unsigned class = exponent > 0 ? (unsigned)exponent - 1 : 0;
    return class < KYMO_ESTIMATE_CLASSES ? class : KYMO_ESTIMATE_CLASSES - 1;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void kymo_estimate_add_object(struct kymo_estimate *sum, uint64_t bytes, double weight)
{
    double variance = weight * (weight - 1);
    sum->objects += weight;
    sum->variance_objects += variance;
    if (!(variance > 0))
        return;
    unsigned class = class_of(weight);
    sum->class_objects[class] += (float)weight;
    sum->class_variance[class] += (float)variance;
    sum->least_bytes = least_of(sum->least_bytes, bytes);
}

void kymo_estimate_add(struct kymo_estimate *sum, uint64_t bytes, double weight)
{
    double size = (double)bytes;
    kymo_estimate_add_object(sum, bytes, weight);
    sum->bytes += weight * size;
    sum->variance_bytes += weight * (weight - 1) * size * size;
    sum->samples++;
}

void kymo_estimate_merge(struct kymo_estimate *sum, const struct kymo_estimate *other)
{
    sum->objects += other->objects;
    sum->bytes += other->bytes;
    sum->variance_objects += other->variance_objects;
    sum->variance_bytes += other->variance_bytes;
    sum->samples += other->samples;
    if (other->least_bytes == 0)
        return; /* all of its classes are empty */
    sum->least_bytes = least_of(sum->least_bytes, other->least_bytes);
    for (unsigned i = 0; i < KYMO_ESTIMATE_CLASSES; i++) {
        sum->class_objects[i] += other->class_objects[i];
        sum->class_variance[i] += other->class_variance[i];
    }
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
    /* By rounding alone, an end may lie on y's other side. */
    *low = middle > half ? fmin(scale * cube(middle - half), y) : 0;
    *high = fmax(scale * cube(middle + half), y);
}

/* The last class that may have blocks; first, last: those of which there were draws. */
static unsigned last_class(const struct kymo_estimate *sum, unsigned first, unsigned last)
{
    double y = sum->class_objects[last];
    if (y * y >= DRAWS_TELLING * (double)sum->class_variance[last])
        return last;
    unsigned more = last - first < UNDRAWN_MOST ? last - first : UNDRAWN_MOST;
    for (uint64_t bytes = sum->least_bytes;
         more > 0 && bytes / 2 >= SMALLEST_BYTES && last + 1 < KYMO_ESTIMATE_CLASSES; more--) {
        bytes /= 2;
        last++;
    }
    return last;
}

void kymo_estimate_objects_interval(const struct kymo_estimate *sum, double *low, double *high)
{
    unsigned first = 0;
    unsigned last = KYMO_ESTIMATE_CLASSES;
    double below = 0;
    double above = 0;
    kymo_estimate_interval(sum->objects, sum->variance_objects, low, high);
    while (first < last && !(sum->class_objects[first] > 0))
        first++;
    while (last > first && !(sum->class_objects[last - 1] > 0))
        last--;
    if (last - first < 2)
        return;
    last = last_class(sum, first, last - 1);
    for (unsigned i = first; i <= last; i++) {
        double y = sum->class_objects[i];
        double l = 0;
        double h = UNDRAWN_DRAWS * exp2(i + 0.5);
        if (y > 0)
            kymo_estimate_interval(y, sum->class_variance[i], &l, &h);
        below += (y - l) * (y - l);
        above += (h - y) * (h - y);
    }
    below = sqrt(below);
    *low = (*low + (below < sum->objects ? sum->objects - below : 0)) / 2;
    *high = sum->objects + sqrt(above);
}
