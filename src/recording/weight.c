/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/weight.h"

#include <math.h>

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
    /* An allocation grows by at most its new size, so q / p is at most 1. */
    double share = kymo_estimate_chance(grown < bytes ? grown : bytes, rate) * alone;
    return weight * (1 - share) + share;
}

double kymo_estimate_after_resize(double weight, const kymo_event_resize *e)
{
    uint64_t grown = e->now.bytes > e->usable_before ? e->now.bytes - e->usable_before : 0;
    if (e->now.rate <= 1 && (e->was_drawn & KYMO_RESIZE_DRAWN_NOW))
        return 1; /* every allocation is recorded, whether it grew or not */
    return kymo_estimate_resized(weight, e->now.bytes, grown, e->now.rate);
}

double kymo_estimate_before_resize(const kymo_event_resize *e)
{
    return kymo_estimate_weight(e->usable_before, e->now.rate);
}
