/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_maps.h - reads /proc/self/maps mapping by mapping, without libc's streams.
 *
 * Layer:    sys
 * Threads:  any; mappings that others make or take away meanwhile may be missing
 * Memory:   the caller's reader, 1 KiB of it a buffer
 * Signals:  safe
 */
#ifndef KYMO_SYS_OWN_MAPS_H
#define KYMO_SYS_OWN_MAPS_H

#include <stdint.h>

struct kymo_own_maps {
    int fd;
    long at, len; /* of what is in the buffer */
    char buffer[1024];
};

/* 0: there is no /proc. Else kymo_own_maps_close is due. */
int kymo_own_maps_open(struct kymo_own_maps *maps);
void kymo_own_maps_close(struct kymo_own_maps *maps);
/* The next mapping, [*lo, *hi), by address; 0: there are no more. */
int kymo_own_maps_next(struct kymo_own_maps *maps, uint64_t *lo, uint64_t *hi);

#endif
