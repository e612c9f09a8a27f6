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
#ifndef KYMO_ENCODE_FIREFOX_FIREFOX_HEAP_H
#define KYMO_ENCODE_FIREFOX_FIREFOX_HEAP_H

#include "encode/firefox/firefox.h"

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
    const char *label; /* how it is shown; NULL: by its name */
    const char *description;
    const char *unit; /* "bytes", "percent", or what is counted */
    uint32_t process;
    uint32_t flags; /* of kymo_counter */
    uint32_t color;
    uint32_t order; /* among those of its process */
    int has_operations;
    int is_cpu; /* milliseconds of CPU time, shown as a share of a CPU */
} kymo_firefox_counter;

/* firefox_counters.c */
/* Everything of a counter but its key "samples" and its end. */
void kymo_firefox_begin_counter(kymo_firefox *w, const kymo_firefox_counter *counter,
                                uint32_t main_thread);

/* Whether all counters were asked for that have something to say. */
static inline int kymo_firefox_all_counters(const kymo_firefox *w)
{
    return w->encoder->options && w->encoder->options->flags & KYMO_ENCODE_ALL_COUNTERS;
}
/* Whether the process lived for a second, or as long as any other. */
int kymo_firefox_has_memory_track(const kymo_firefox *w, uint32_t process);

/* firefox_heap_counters.c: counters of what lives and of what is mapped, in the array of counters;
 * main_thread: by process. They come first in their process. */
enum { KYMO_FIREFOX_HEAP_COUNTERS = 2, KYMO_FIREFOX_OWN_COUNTERS = 3 };
int kymo_firefox_has_heap(const kymo_profile *profile);
KYMO_NODISCARD
kymo_err kymo_firefox_put_heap_counters(kymo_firefox *w, const uint32_t *main_thread);

/* firefox_cpu_counter.c: one counter for each process that has CPU samples, in the same array. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_cpu_counters(kymo_firefox *w, const uint32_t *main_thread);

#endif
