/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_heap.h - the memory of processes on its way into the Firefox format.
 *
 * Layer:    encode; above profile
 * Flow:     heap_walk -> [firefox_heap] -> firefox_threads.c, firefox_counters.c, firefox_extra.c
 * Threads:  one owner at a time
 * Memory:   four bytes for each block that ends, while its process is written
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_FIREFOX_HEAP_H
#define KYMO_ENCODE_FIREFOX_HEAP_H

#include "encode/firefox.h"

/* firefox_allocations.c: the key "nativeAllocations" of the process's main thread, if there is
 * anything for it. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_allocations(kymo_firefox *w, uint32_t process);
/* Where there are too many blocks for all to be shown: the bytes below which they are drawn by
 * chance; else 0. */
uint64_t kymo_firefox_thinned(const kymo_profile *profile, uint32_t process);

/* What a track of a counter says of itself. */
typedef struct kymo_firefox_counter {
    const char *name;
    const char *category;
    const char *description;
    const char *unit; /* "bytes", "percent", or what is counted */
    uint32_t process;
    uint32_t flags; /* of kymo_counter */
    uint32_t color;
    uint32_t order; /* among those of its process */
} kymo_firefox_counter;

/* firefox_counters.c: everything of a counter but its key "samples" and its end. */
void kymo_firefox_begin_counter(kymo_firefox *w, const kymo_firefox_counter *counter,
                                uint32_t main_thread);

/* firefox_heap_counters.c: counters of what lives and of what is mapped, in the array of counters;
 * main_thread: by process. */
int kymo_firefox_has_heap(const kymo_profile *profile);
KYMO_NODISCARD
kymo_err kymo_firefox_put_heap_counters(kymo_firefox *w, uint32_t first_order,
                                        const uint32_t *main_thread);

#endif
