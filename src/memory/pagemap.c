/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/smaps.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/attr.h"

#define PRESENT (1ull << 63)

int kymo_pagemap_open(struct kymo_pagemap *m, const char *root, const char *process,
                      uint64_t budget)
{
    char path[PATH_MAX];
    m->fd = -1;
    m->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    m->budget = budget;
    m->count = 0;
    if (snprintf(path, sizeof path, "%s/proc/%s/pagemap", root, process) < (int)sizeof path)
        m->fd = open(path, O_RDONLY | O_CLOEXEC);
    return m->fd >= 0;
}

void kymo_pagemap_close(struct kymo_pagemap *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

int kymo_pagemap_may(const struct kymo_pagemap *m, uint64_t bytes)
{
    return m->fd >= 0 && bytes / m->page_bytes <= m->budget;
}

/* From that page on, up to another at most. */
static void fill(struct kymo_pagemap *m, uint64_t page, uint64_t end)
{
    uint64_t want = end - page;
    want = want < KYMO_ARRAY_LEN(m->entries) ? want : KYMO_ARRAY_LEN(m->entries);
    want = want < m->budget ? want : m->budget;
    m->first = page;
    m->count = 0;
    ssize_t got = m->fd < 0 || want == 0 || page > (uint64_t)INT64_MAX / sizeof *m->entries
                      ? 0
                      : pread(m->fd, m->entries, want * sizeof *m->entries,
                              (off_t)(page * sizeof *m->entries));
    if (got > 0)
        m->count = (uint32_t)((size_t)got / sizeof *m->entries);
    m->budget -= m->count;
}

uint64_t kymo_pagemap_count(struct kymo_pagemap *m, uint64_t lo, uint64_t hi)
{
    uint64_t pages = 0;
    uint64_t end = hi / m->page_bytes;
    for (uint64_t page = lo / m->page_bytes; page < end; page++) {
        if (page < m->first || page - m->first >= m->count) {
            /* What follows is asked for next, most likely. */
            fill(m, page, page + KYMO_ARRAY_LEN(m->entries));
            if (m->count == 0)
                break;
        }
        pages += (m->entries[page - m->first] & PRESENT) != 0;
    }
    return pages * m->page_bytes;
}
