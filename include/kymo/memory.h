/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - what a program's memory is, asked by the program itself.
 *
 * Flow:     /proc, cgroup, the allocator, the recorder -> [memory] -> a sink (kymo/sink.h)
 * Threads:  any, at the same time
 * Memory:   takes some from malloc, gives all of it back
 * Signals:  not for handlers; not to be called by a malloc of the program's own
 *
 * Link with -lkymo. kymo_memory_snapshot needs no recorder.
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

#ifdef __cplusplus
}
#endif

#endif
