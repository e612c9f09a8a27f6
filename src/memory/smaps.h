/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps.h - what of each part of an address space is in memory, as /proc/PID/smaps has it.
 *
 * Layer:    memory
 * Flow:     /proc/PID/smaps -> [smaps] -> the caller's function, area by area
 * Threads:  any, one per structure
 * Memory:   none of its own
 * Signals:  not for handlers
 *
 * The file may be tens of megabytes long, and is taken in pieces of any size. Lines that are not
 * understood are left out, an area that is none (it ends before it begins, or is smaller than what
 * it is said to have resident) is as well.
 */
#ifndef KYMO_MEMORY_SMAPS_H
#define KYMO_MEMORY_SMAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KYMO_SMAPS_NAME_BYTES 1024u
/* The kernel lets a process have 65530 unless vm.max_map_count was raised. */
#define KYMO_SMAPS_AREAS_MAX (1u << 20)

struct kymo_smaps_area {
    uint64_t lo, hi;
    uint64_t rss, anonymous; /* bytes; anonymous is a part of rss */
    uint64_t inode;          /* 0: no file */
    uint8_t is_readable, is_writable, is_executable, is_shared;
    char name[KYMO_SMAPS_NAME_BYTES]; /* "": none. The beginning, if it is longer */
};

/* An error of its ends the reading, and is handed on. */
typedef kymo_err kymo_smaps_fn(void *context, const struct kymo_smaps_area *area);

/* private */
struct kymo_smaps {
    kymo_smaps_fn *fn;
    void *context;
    struct kymo_smaps_area area; /* whose lines come */
    int has_area;
    uint32_t areas;
    size_t line_len;
    char line[KYMO_SMAPS_NAME_BYTES + 128]; /* what is longer is cut */
};

void kymo_smaps_begin(struct kymo_smaps *smaps, kymo_smaps_fn *fn, void *context);
KYMO_NODISCARD
kymo_err kymo_smaps_feed(struct kymo_smaps *smaps, const char *text, size_t len);
/* The last area. */
KYMO_NODISCARD
kymo_err kymo_smaps_end(struct kymo_smaps *smaps);

/* Of a process; root and process as process.h has them. KYMO_E_IO: there is no such file, or it may
 * not be read. A process that ends meanwhile has fewer areas. */
KYMO_NODISCARD
kymo_err kymo_smaps_read(const char *root, const char *process, kymo_smaps_fn *fn, void *context);

/* ---- pagemap.c: which pages of an address space are in memory ----
 *
 * Unlike smaps the kernel counts here pages that were read and never written (all of them its one
 * page of zeros).
 */

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
