/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_order.h - sorts rows by time; rows with equal times keep their order.
 *
 * Layer:    profile
 * Threads:  any; no state
 * Signals:  as safe as qsort
 */
#ifndef KYMO_PROFILE_TIME_ORDER_H
#define KYMO_PROFILE_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct kymo_time_order {
    uint64_t time_ns;
    size_t from; /* index of the row before sorting */
};

/* For qsort. */
static inline int kymo_time_order_compare(const void *a, const void *b)
{
    const struct kymo_time_order *x = a;
    const struct kymo_time_order *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

#endif
