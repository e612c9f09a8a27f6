/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagemap.h - which pages of an address space are in memory.
 *
 * Layer:    memory
 * Flow:     /proc/PID/pagemap -> [pagemap] -> observe/resident.c
 * Threads:  one owner at a time
 * Memory:   in the structure
 * Signals:  not for handlers
 *
 * Unlike smaps the kernel counts here pages that were read and never written (all of them its one
 * page of zeros).
 */
#ifndef KYMO_MEMORY_PAGEMAP_H
#define KYMO_MEMORY_PAGEMAP_H

#include <stdint.h>

struct kymo_pagemap {
    int fd;
    uint64_t page_bytes;
    uint64_t budget;         /* pages that may still be asked for */
    uint64_t first;          /* page of entries[0] */
    uint32_t count;          /* of entries */
    uint64_t entries[2048u]; /* as the kernel has them */
};

/* Returns 0 if it cannot be read. budget: of pages. root and process as process.h has them. */
int kymo_pagemap_open(struct kymo_pagemap *pagemap, const char *root, const char *process,
                      uint64_t budget);
void kymo_pagemap_close(struct kymo_pagemap *pagemap);
/* Whether so many bytes can be asked for within the budget. */
int kymo_pagemap_may(const struct kymo_pagemap *pagemap, uint64_t bytes);
/* Bytes of [lo, hi) that are in memory; both are multiples of a page. What cannot be read is not.
 */
uint64_t kymo_pagemap_count(struct kymo_pagemap *pagemap, uint64_t lo, uint64_t hi);

#endif
