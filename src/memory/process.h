/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - reads what the kernel says of one process.
 *
 * Layer:    memory
 * Flow:     /proc -> [process] -> figures
 * Threads:  any
 * Memory:   the caller's; a list of threads is freed by kymo_memory_threads_deinit
 * Signals:  not for handlers
 *
 * root is what all paths begin with, "" but in tests; process is a name of /proc: "self", "123".
 * The process may end at any moment, and others' files may be forbidden: what cannot be read is not
 * there.
 */
#ifndef KYMO_MEMORY_PROCESS_H
#define KYMO_MEMORY_PROCESS_H

#include "base/vec.h"
#include "memory/figures.h"

/* What changes all the time: status, stat, io, descriptors. */
void kymo_memory_read_use(struct kymo_figures *f, const char *root, const char *process);
/* What hardly changes: limits, OOM score. */
void kymo_memory_read_limits(struct kymo_figures *f, const char *root, const char *process);
/* smaps_rollup: the kernel walks all pages, some 1 ms for a GiB. */
void kymo_memory_read_maps(struct kymo_figures *f, const char *root, const char *process);
/* PSI of the whole system. */
void kymo_memory_read_pressure(struct kymo_figures *f, const char *root);

#define KYMO_MEMORY_THREADS_MAX 16384u

struct kymo_memory_thread {
    uint32_t tid;
    char name[64]; /* valid UTF-8 */
    uint64_t cpu_ns;
};

struct kymo_memory_threads {
    KYMO_VEC(struct kymo_memory_thread) list;
};

KYMO_NODISCARD
kymo_err kymo_memory_read_threads(struct kymo_memory_threads *threads, const char *root,
                                  const char *process);
void kymo_memory_threads_deinit(struct kymo_memory_threads *threads);

/* ---- allocators.c: what the allocators of this process say of themselves ----
 *
 * Every one that is loaded is asked, also one that no allocation comes from: glibc's, beside
 * another that stands in front of it, then has next to nothing. mallinfo2 walks each
 * arena's lists of free memory under its lock; with millions of entries that takes milliseconds.
 */

void kymo_memory_read_allocators(struct kymo_figures *f);

/* Of malloc_info's text: largest size of all arenas together, and their number. */
void kymo_memory_parse_malloc_info(struct kymo_figures *f, const char *text);

#endif
