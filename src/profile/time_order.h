/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_order.h - the order of rows by time; rows with equal times keep their order.
 *
 * Layer:    profile
 * Threads:  any; no state
 * Memory:   the caller frees the order
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_TIME_ORDER_H
#define KYMO_PROFILE_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kymo_time_order {
    uint64_t time_ns;
    size_t from; /* the row */
};

/* Of n rows (1 or more) whose times are in ns, `stride` bytes apart. KYMO_E_NOMEM: there is no
 * order to free. */
KYMO_NODISCARD
kymo_err kymo_time_order_make(const uint64_t *times, size_t stride, size_t n,
                              struct kymo_time_order **order);

#endif
