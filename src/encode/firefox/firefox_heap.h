/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_heap.h - memory of processes in the Firefox format.
 *
 * Layer:    encode; above profile
 * Flow:     heap_walk -> [firefox_heap] -> firefox_threads.c, firefox_counters.c, firefox_extra.c
 * Threads:  one owner at a time
 * Memory:   four bytes for each freed allocation, while its process is written
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_FIREFOX_FIREFOX_HEAP_H
#define KYMO_ENCODE_FIREFOX_FIREFOX_HEAP_H

#include "encode/firefox/firefox.h"

/* firefox_allocations.c: the key "nativeAllocations" of the process's main thread, if it has
 * allocations. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_allocations(kymo_firefox *w, uint32_t process);
/* If there are too many allocations to show: those that count for fewer than these bytes are
 * sampled; else 0. */
uint64_t kymo_firefox_thinned(const kymo_profile *profile, uint32_t process);

/* Properties of a counter's track. */
typedef struct kymo_firefox_counter {
    const char *name;
    const char *category;
    const char *label; /* the text shown; NULL: the name */
    const char *description;
    const char *unit; /* "bytes", "percent", or what is counted */
    uint32_t process;
    uint32_t flags; /* of kymo_counter */
    uint32_t color;
    uint32_t order; /* position among those of its process */
    int has_operations;
    int is_cpu; /* milliseconds of CPU time, shown as a percentage of a CPU */
} kymo_firefox_counter;

/* firefox_counters.c */
/* Writes a counter except its key "samples" and its end. */
void kymo_firefox_begin_counter(kymo_firefox *w, const kymo_firefox_counter *counter,
                                uint32_t main_thread);

/* Whether the user requested all counters that have values. */
static inline int kymo_firefox_all_counters(const kymo_firefox *w)
{
    return w->encoder->options && w->encoder->options->flags & KYMO_ENCODE_ALL_COUNTERS;
}
/* Whether the process lived for a second, or as long as any other. */
int kymo_firefox_has_memory_track(const kymo_firefox *w, uint32_t process);

/* firefox_heap_counters.c: counters of live and of mapped memory, in the array of counters;
 * main_thread: by process. They are the first ones of their process. */
enum { KYMO_FIREFOX_HEAP_COUNTERS = 2, KYMO_FIREFOX_OWN_COUNTERS = 3 };
int kymo_firefox_has_heap(const kymo_profile *profile);
KYMO_NODISCARD
kymo_err kymo_firefox_put_heap_counters(kymo_firefox *w, const uint32_t *main_thread);

/* firefox_cpu_counter.c: one counter for each process that has CPU samples, in the same array. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_cpu_counters(kymo_firefox *w, const uint32_t *main_thread);

#endif
