/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - large memory: tables of which little is used, and what is filled at once.
 *
 * Layer:    sys
 * Threads:  any
 * Memory:   the caller's; a table of the size that it was taken with
 * Signals:  not for handlers
 *
 * A table's memory is there once it is touched. calloc does the same for a large table, until the
 * first of them is freed: from then on it keeps such memory, and has to clear it each time.
 */
#ifndef KYMO_SYS_PAGES_H
#define KYMO_SYS_PAGES_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KYMO_PAGES_HUGE (2u << 20)
#define KYMO_PAGES_HEAP (16u << 20)
#define KYMO_PAGES_PLAIN (1u << 20)

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

/* What is filled at once gets huge pages, where the kernel gives them on request: the first touch
 * of a page of 4 KiB takes 1.5 us (measured), which is as long as copying 15 KB. Not zeroed; free()
 * gives it back. NULL: there is no memory. */
static inline void *kymo_pages_fill(size_t bytes)
{
    void *data;
    if (bytes < KYMO_PAGES_HUGE / 2)
        return malloc(bytes);
    if (posix_memalign(&data, KYMO_PAGES_HUGE, bytes) != 0)
        return NULL;
    (void)madvise(data, bytes, MADV_HUGEPAGE);
    return data;
}

/* For a process that is about to fill much of its heap: lets it grow in large steps, and asks for
 * huge pages in the first one, but for its first MiB, which is enough for what is small. To name
 * the code of a python3.11 took 2100 page faults of 4 KiB, a fifth of all time. */
static inline void kymo_pages_widen_heap(void)
{
    if (!mallopt(M_TOP_PAD, KYMO_PAGES_HEAP) || !mallopt(M_MMAP_THRESHOLD, KYMO_PAGES_PLAIN))
        return;
    void *block = malloc(KYMO_PAGES_PLAIN / 2);
    uintptr_t begin = (uintptr_t)block + KYMO_PAGES_PLAIN, end = (uintptr_t)sbrk(0);
    free(block);
    begin = (begin + KYMO_PAGES_HUGE - 1) & ~(uintptr_t)(KYMO_PAGES_HUGE - 1);
    if (block && begin < end && end - begin <= KYMO_PAGES_HEAP)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

#endif
