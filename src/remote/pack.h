/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - some files as one zip file in memory, by libzip.
 *
 * Layer:    remote
 * Flow:     s3.c -> [pack] -> the body of a request
 * Threads:  one
 * Memory:   the result is the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_REMOTE_PACK_H
#define KYMO_REMOTE_PACK_H

#include <stddef.h>
#include <time.h>

#include "base/error.h"

struct kymo_pack_member {
    const char *name;
    const void *data; /* stays until kymo_pack returns */
    size_t len;
};

/* A zip file of the members, in their order, with this time. The same input makes the same bytes.
 * *out is for free(). */
KYMO_NODISCARD
kymo_err kymo_pack(const struct kymo_pack_member *members, size_t count, time_t time, void **out,
                   size_t *out_len, kymo_error *detail);

#endif
