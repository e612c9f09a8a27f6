/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - large memory of which little is used.
 *
 * Layer:    sys
 * Threads:  any
 * Memory:   the caller's; a table of the size that it was taken with
 * Signals:  not for handlers
 *
 * A table's memory is there once it is touched. calloc does the same for a large table, until the
 * first of them is freed: from then on it keeps such memory, and has to clear it each time.
 *
 * No huge pages, also where all of it is used: a virtual machine may have given them back to its
 * host, which then clears each again, page by page. Names of a python3.11 took 10 ms more by them
 * after a program of 1.4 s, and 4 ms less only where the same pages were used again and again.
 */
#ifndef KYMO_SYS_PAGES_H
#define KYMO_SYS_PAGES_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KYMO_PAGES_HUGE (2u << 20)

/* n elements of size bytes that read as zeros; NULL if there is no address space. */
static inline void *kymo_pages_take(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    /* A huge page at the first touch would be memory, and time to clear it, for nothing. */
    if (bytes >= KYMO_PAGES_HUGE)
        (void)madvise(map, bytes, MADV_NOHUGEPAGE);
    return map;
}

/* table may be NULL. */
static inline void kymo_pages_give(void *table, size_t n, size_t size)
{
    if (table)
        munmap(table, n * size);
}

#endif
