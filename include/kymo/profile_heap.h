/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_heap.h - the part of a profile that is about memory; included by profile.h, whose rules
 * hold.
 *
 * A row of allocations is one allocation from its birth to its end. A resize ends a row and begins
 * the next one, which names it. Rows of a sampled recording stand for `weight` allocations each:
 * sums of weight, and of weight times bytes, are what the process had (doc/memory.md).
 */
#ifndef KYMO_PROFILE_HEAP_H
#define KYMO_PROFILE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kymo_profile kymo_profile;

#define KYMO_ALLOCATIONS_MAX (1u << 27) /* of all processes */
#define KYMO_MAPPINGS_MAX (1u << 24)
#define KYMO_LEDGER_MAX (1u << 20)
#define KYMO_MEMORY_INFOS_MAX (1u << 20)

#define KYMO_LIVES UINT64_MAX /* an end: there is none */

/* How an allocation came to be. */
typedef enum kymo_allocation_family {
    KYMO_FAMILY_MALLOC = 0,
    KYMO_FAMILY_CALLOC,
    KYMO_FAMILY_REALLOC,
    KYMO_FAMILY_ALIGNED,
    KYMO_FAMILY_NEW,
    KYMO_FAMILY_NEW_ARRAY,
    KYMO_FAMILY_EXTENDED,
    KYMO_FAMILY_EARLY,  /* before the recording could walk stacks */
    KYMO_FAMILY_PYTHON, /* objects of Python's own allocator; their memory is mapped */
    KYMO_FAMILY_COUNT
} kymo_allocation_family;

/* Where an allocation that a profile has was allocated. */
typedef enum kymo_allocation_origin {
    KYMO_ORIGIN_HERE = 0, /* in this process, while it was recorded */
    KYMO_ORIGIN_FORKED,   /* in the process that this one was forked from */
    KYMO_ORIGIN_EARLIER,  /* in this process, before the profile begins */
} kymo_allocation_origin;

typedef struct kymo_allocation {
    uint64_t time_ns;
    uint64_t end_ns;   /* KYMO_LIVES: it is there at the end */
    uint64_t birth_ns; /* of the allocation that was resized into this one; else time_ns */
    uint64_t address;
    uint64_t bytes; /* as asked for */
    double weight;  /* allocations that it stands for, above 0 */
    uint32_t slack; /* bytes usable beyond those asked for */
    uint32_t thread;
    uint32_t end_thread; /* who freed it; KYMO_NONE: it lives, or not known */
    /* How many allocations its thread had made between its birth and its end, by the same thread;
     * UINT32_MAX: another one freed it, or it lives. */
    uint32_t distance;
    uint32_t stack;      /* KYMO_NONE: none */
    uint32_t labels;     /* a set of labels, KYMO_NONE: none */
    uint32_t previous;   /* the row that it was before a resize, by its place; KYMO_NONE: none */
    uint16_t family;     /* kymo_allocation_family */
    uint8_t origin;      /* kymo_allocation_origin */
    uint8_t was_resized; /* 1: end_ns is that of a resize */
} kymo_allocation;

/* A mapping that the program made, from then to its end. One that was taken away in parts is as
 * many rows of the same stack and time, each of the bytes that went together: at any time those
 * that are there add up. */
typedef struct kymo_mapping {
    uint64_t time_ns, end_ns;
    uint64_t address, bytes;
    uint32_t thread, stack;
    uint32_t how; /* bit 0: by the allocator, 1: of a file, 2: shared, 3: a thread's stack */
    uint32_t reserved;
} kymo_mapping;

/* What is known of a process's recording of memory. */
typedef struct kymo_heap {
    uint32_t size;
    uint32_t process;
    uint64_t rate;         /* mean bytes between two draws; 1: every allocation; 0: not recorded */
    uint64_t map_least;    /* bytes of the least mapping that is recorded */
    uint64_t count, bytes; /* exact, of all allocations; 0: not known */
    uint64_t lost;         /* records of allocations that are missing */
    uint64_t lost_frees;   /* then allocations seem to live that do not */
    uint32_t is_partial;   /* 1: some are missing, and leaks are not to be trusted */
    uint32_t allocator;    /* string: "glibc" */
    uint32_t not_seen;     /* string: what allocates and is not recorded; "": nothing known */
} kymo_heap;

/* One line of a ledger. */
typedef struct kymo_ledger {
    uint32_t size;
    uint32_t process;
    uint32_t line; /* a line's number: doc/format-kymo.md, event LEDGER */
    uint32_t name; /* string; 0, and no stack: the line as a whole */
    int64_t bytes;
    uint64_t low, high; /* 0: exact */
    uint64_t time_ns;
    uint32_t stack; /* whose part of the line it is; KYMO_NONE: it is not one of a stack */
    uint32_t reserved;
} kymo_ledger;

static inline int kymo_ledger_is_whole(const kymo_ledger *line)
{
    return line->name == 0 && line->stack == 0xffffffffu;
}

typedef struct kymo_memory_info {
    uint32_t process;
    uint32_t key; /* string */
    uint64_t time_ns;
    uint64_t value;
} kymo_memory_info;

/* Rows of a process in any order, but that `previous` names one that was added before; finish
 * sorts them by time, and puts `previous` right. *row (may be NULL): its place until then. */
KYMO_API kymo_err kymo_profile_add_allocation(kymo_profile *profile, uint32_t process,
                                              const kymo_allocation *allocation, uint32_t *row);
KYMO_API kymo_err kymo_profile_add_mapping(kymo_profile *profile, uint32_t process,
                                           const kymo_mapping *mapping);
/* Replaces what was there for the process. */
KYMO_API kymo_err kymo_profile_set_heap(kymo_profile *profile, const kymo_heap *heap);
/* A line replaces one of the same process, time, line, name and stack. low, high: both 0 where it
 * is exact. */
KYMO_API kymo_err kymo_profile_add_ledger(kymo_profile *profile, const kymo_ledger *ledger);
KYMO_API kymo_err kymo_profile_add_memory_info(kymo_profile *profile, const kymo_memory_info *info);

/* NULL and 0 where there are none. */
KYMO_API const kymo_allocation *kymo_profile_allocations(const kymo_profile *profile,
                                                         uint32_t process, size_t *count);
KYMO_API const kymo_mapping *kymo_profile_mappings(const kymo_profile *profile, uint32_t process,
                                                   size_t *count);
/* NULL: its memory was not recorded. */
KYMO_API const kymo_heap *kymo_profile_heap(const kymo_profile *profile, uint32_t process);
/* Lines of all processes, by process, time and line: the line as a whole, then its parts, the
 * largest first. */
KYMO_API const kymo_ledger *kymo_profile_ledger(const kymo_profile *profile, size_t *count);
KYMO_API const kymo_memory_info *kymo_profile_memory_infos(const kymo_profile *profile,
                                                           size_t *count);

#ifdef __cplusplus
}
#endif

#endif
