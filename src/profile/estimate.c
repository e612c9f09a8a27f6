/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/estimate.h"

#include <math.h>

#define UNDRAWN_MOST 3 /* size classes below the smallest class with a sampled allocation */
/* With so many draws of one class, the next class would have half as many, and rarely none, if
 * it had as many allocations. */
#define DRAWS_TELLING 4
#define UNDRAWN_DRAWS 1.353          /* draws that a class without any may have had */
#define SMALLEST_BYTES 16u           /* of an allocation: no class is of smaller ones */
#define NORMAL_975 1.959963984540054 /* a normal variable is below it with 97.5 % */
#define CHANCE_FEW 1.5               /* fewer random draws than these give no lower bound */
#define CHANCE_TELLING 4             /* and so many show which sizes a row has */
#define COUNT_MISSED 0.9 /* below this share of the count, small allocations were missed */
#define AGREES_DEVIATIONS 6

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
    sum->drawn_objects++;
    if (!(variance > 0))
        return;
    sum->by_chance += 1 - 1 / weight;
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
    sum->drawn_bytes += size;
    sum->samples++;
}

void kymo_estimate_merge(struct kymo_estimate *sum, const struct kymo_estimate *other)
{
    sum->objects += other->objects;
    sum->bytes += other->bytes;
    sum->variance_objects += other->variance_objects;
    sum->variance_bytes += other->variance_bytes;
    sum->samples += other->samples;
    sum->drawn_objects += other->drawn_objects;
    sum->drawn_bytes += other->drawn_bytes;
    sum->by_chance += other->by_chance;
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

/* The interval of a gamma variable with this mean and variance; draws: its shape. */
static void gamma_interval(double mean, double draws, double *low, double *high)
{
    double middle = 1 - 1 / (9 * draws);
    double half = NORMAL_975 / (3 * sqrt(draws));
    *low = middle > half ? mean * cube(middle - half) : 0;
    *high = mean * cube(middle + half);
}

void kymo_estimate_interval(double y, double v, double *low, double *high)
{
    *low = *high = y;
    if (!(y > 0) || !(v > 0))
        return;
    double draws = y * y / v + 0.5;
    gamma_interval(v / y * draws, draws, low, high);
    /* Rounding alone can put a bound on the other side of y. */
    *low = fmin(*low, y);
    *high = fmax(*high, y);
}

/* ---- a part of a whole ---- */

int kymo_estimate_agrees(const struct kymo_estimate_whole *whole, double counted_bytes)
{
    double half_a_draw = (double)whole->rate * (double)whole->rate / 2;
    double error = sqrt(whole->sum.variance_bytes + half_a_draw);
    return fabs(counted_bytes - whole->sum.bytes) <= AGREES_DEVIATIONS * error;
}

/* The part's share of the difference between what was counted and the sum of all draws. */
static double calibrated(double part, double variance, double whole, double whole_variance,
                         double counted)
{
    if (!(counted > 0) || !(whole_variance > 0))
        return part;
    return part + variance / whole_variance * (counted - whole);
}

/* least: what was sampled at least; others: the same sum for the rest of the whole. */
static void put_range(struct kymo_estimate_range *r, double value, double least, double others,
                      double counted)
{
    r->low = fmax(r->low, least);
    if (counted > 0) {
        double most = fmax(counted - others, least);
        r->low = fmin(r->low, most);
        r->high = fmin(r->high, most);
    }
    r->high = fmax(r->high, r->low);
    r->value = fmin(fmax(value, r->low), r->high);
}

void kymo_estimate_bytes(const struct kymo_estimate *part, const struct kymo_estimate_whole *whole,
                         struct kymo_estimate_range *range)
{
    double unused;
    double rate = (double)whole->rate;
    kymo_estimate_interval(part->bytes, part->variance_bytes, &range->low, &range->high);
    range->value = part->bytes;
    if (whole->rate <= 1)
        return;
    double most = part->bytes + rate / 2;
    double variance = part->variance_bytes + rate * rate / 2;
    gamma_interval(most, most * most / variance, &unused, &range->high);
    if (part->by_chance < CHANCE_FEW)
        range->low = 0;
    put_range(range,
              calibrated(part->bytes, part->variance_bytes, whole->sum.bytes,
                         whole->sum.variance_bytes, whole->bytes),
              part->drawn_bytes, whole->sum.drawn_bytes - part->drawn_bytes, whole->bytes);
}

/* ---- objects, by classes of their weights ---- */

/* A range of classes with draws: first to last; first > last: none. */
struct classes {
    int first, last;
};

static struct classes classes_of(const struct kymo_estimate *sum)
{
    struct classes c = {.first = 0, .last = KYMO_ESTIMATE_CLASSES - 1};
    while (c.first <= c.last && !(sum->class_objects[c.first] > 0))
        c.first++;
    while (c.last >= c.first && !(sum->class_objects[c.last] > 0))
        c.last--;
    return c;
}

/* Extends the range by smaller classes that may have had draws although none was seen. */
static struct classes with_smaller(const struct kymo_estimate *sum, struct classes c)
{
    double y = c.last < c.first ? 0 : sum->class_objects[c.last];
    if (c.last < c.first || y * y >= DRAWS_TELLING * (double)sum->class_variance[c.last])
        return c;
    int more = c.last - c.first < UNDRAWN_MOST ? c.last - c.first : UNDRAWN_MOST;
    for (uint64_t bytes = sum->least_bytes;
         more > 0 && bytes / 2 >= SMALLEST_BYTES && c.last + 1 < KYMO_ESTIMATE_CLASSES; more--) {
        bytes /= 2;
        c.last++;
    }
    return c;
}

static struct classes joined(struct classes a, struct classes b)
{
    if (a.first > a.last)
        return b;
    if (b.first > b.last)
        return a;
    return (struct classes){.first = a.first < b.first ? a.first : b.first,
                            .last = a.last > b.last ? a.last : b.last};
}

/* The classes of which the part may have allocations. */
static struct classes possible_classes(const struct kymo_estimate *part,
                                       const struct kymo_estimate_whole *whole, int takes_all_kinds)
{
    struct classes c = with_smaller(part, classes_of(part));
    struct classes all = classes_of(&whole->sum);
    if (whole->rate <= 1 || (!takes_all_kinds && part->by_chance >= CHANCE_TELLING))
        return c;
    c = joined(c, with_smaller(&whole->sum, all));
    if (all.first > all.last ||
        (takes_all_kinds && whole->sum.objects < COUNT_MISSED * whole->objects)) {
        double smallest = fmax((double)whole->rate / SMALLEST_BYTES, 1);
        c = joined(c, (struct classes){.first = 0, .last = (int)class_of(smallest)});
    }
    return c;
}

void kymo_estimate_objects(const struct kymo_estimate *part,
                           const struct kymo_estimate_whole *whole, int takes_all_kinds,
                           struct kymo_estimate_range *range)
{
    double unused;
    double below = 0;
    double above = 0;
    struct classes c = possible_classes(part, whole, takes_all_kinds);
    for (int i = c.first; i <= c.last; i++) {
        double y = part->class_objects[i];
        double l = 0;
        double h = UNDRAWN_DRAWS * exp2(i + 0.5);
        if (y > 0)
            kymo_estimate_interval(y, part->class_variance[i], &l, &h);
        below += (y - l) * (y - l);
        above += (h - y) * (h - y);
    }
    kymo_estimate_interval(part->objects, part->variance_objects, &range->low, &unused);
    range->low = (range->low + fmax(part->objects - sqrt(below), 0)) / 2;
    range->high = part->objects + sqrt(above);
    range->value = part->objects;
    if (whole->rate <= 1)
        return;
    if (part->by_chance < CHANCE_FEW)
        range->low = 0;
    put_range(range,
              calibrated(part->objects, part->variance_objects, whole->sum.objects,
                         whole->sum.variance_objects, whole->objects),
              part->drawn_objects, whole->sum.drawn_objects - part->drawn_objects, whole->objects);
}
