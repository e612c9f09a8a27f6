/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - what a program's memory is, asked by the program itself.
 *
 * Flow:     /proc, cgroup, the allocator, the recorder -> [memory] -> a sink (kymo/sink.h)
 * Threads:  any, at the same time
 * Memory:   takes some from malloc, gives all of it back
 * Signals:  not for handlers; not to be called by a malloc of the program's own
 *
 * Link with -lkymo. kymo_memory_snapshot needs no recorder; kymo_heap_profile asks the one that
 * records the program.
 */
#ifndef KYMO_MEMORY_H
#define KYMO_MEMORY_H

#include <stdint.h>

#include "kymo/error.h"
#include "kymo/sink.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kymo_memory_format {
    KYMO_MEMORY_JSON = 0,       /* one object; doc/memory-json.md */
    KYMO_MEMORY_PROMETHEUS = 1, /* text exposition format 0.0.4 */
} kymo_memory_format;

/* What is asked for; others are left out. */
enum kymo_memory_parts {
    KYMO_MEMORY_PROCESS = 1u << 0,   /* status, stat, io, descriptors */
    KYMO_MEMORY_MAPS = 1u << 1,      /* smaps_rollup: the kernel walks all pages */
    KYMO_MEMORY_CGROUP = 1u << 2,    /* limits, usage, events */
    KYMO_MEMORY_PRESSURE = 1u << 3,  /* PSI of memory, cpu, io */
    KYMO_MEMORY_ALLOCATOR = 1u << 4, /* what malloc says of itself */
    KYMO_MEMORY_THREADS = 1u << 5,   /* CPU time of each */
    KYMO_MEMORY_ALL = (1u << 6) - 1,
};

/* Writes a snapshot of this process. What cannot be read is left out, never guessed. KYMO_E_INVALID
 * for an unknown format or part; errors of the sink are passed on. */
KYMO_API kymo_err kymo_memory_snapshot(kymo_memory_format format, uint32_t parts, kymo_sink *sink);

typedef enum kymo_heap_profile_format {
    KYMO_HEAP_PROFILE_PPROF = 0,     /* compressed; go tool pprof, Pyroscope, Parca */
    KYMO_HEAP_PROFILE_COLLAPSED = 1, /* a line for each stack, with its bytes */
    KYMO_HEAP_PROFILE_JSON = 2,      /* kymo report --mode live --json; doc/report-json.md */
} kymo_heap_profile_format;

/* Writes what of this process's heap lives now, by who asked for it. All that its threads had
 * allocated and freed before the call is in it. The recorder makes the file from all that it has
 * recorded so far, which may take seconds; the caller waits, other threads run on.
 * KYMO_E_UNSUPPORTED: no recorder above this process records its allocations (kymo record --alloc);
 * KYMO_E_PERMISSION: another user's does; KYMO_E_INVALID for an unknown format; errors of the sink
 * are passed on. */
KYMO_API kymo_err kymo_heap_profile(kymo_heap_profile_format format, kymo_sink *sink);

#ifdef __cplusplus
}
#endif

#endif
