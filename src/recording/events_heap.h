/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_heap.h - the events about memory; a part of events.h, whose rules apply.
 *
 * Layer:    recording
 * Flow:     as events.h
 *
 * Allocation ids are unique in a process and its ancestors by fork. Events of one thread are in
 * order; those of different threads are ordered only by their times.
 */
#ifndef KYMO_RECORDING_EVENTS_HEAP_H
#define KYMO_RECORDING_EVENTS_HEAP_H

#include <stdint.h>

/* A sampled allocation. Its weight follows from bytes and rate: profile/estimate.h. */
typedef struct kymo_event_allocation {
    uint32_t thread;
    uint32_t stack; /* KYMO_EVENT_NONE: not known */
    uint64_t time_ns;
    uint64_t id, address;
    uint64_t bytes;  /* requested */
    uint64_t rate;   /* sampling rate: mean bytes between two draws; 1: every allocation was
                      * recorded */
    uint32_t slack;  /* usable beyond bytes */
    uint32_t family; /* enum kymo_alloc_family of buffer/record.h */
} kymo_event_allocation;

typedef struct kymo_event_free {
    uint32_t thread;
    uint32_t count; /* lower half of the number of allocations this thread had made */
    uint64_t time_ns;
    uint64_t id;
} kymo_event_free;

#define KYMO_RESIZE_DRAWN_BEFORE 1u
#define KYMO_RESIZE_DRAWN_NOW 2u /* by this call */

/* An allocation has a new size, and possibly a new address. */
typedef struct kymo_event_resize {
    kymo_event_allocation now;
    uint64_t usable_before; /* bytes */
    uint32_t was_drawn;     /* KYMO_RESIZE_DRAWN_* */
    uint32_t reserved;
} kymo_event_resize;

typedef struct kymo_event_mapping {
    uint32_t thread;
    uint32_t stack; /* KYMO_EVENT_NONE: not known, or an unmap */
    uint64_t time_ns;
    uint64_t address, bytes;
    uint64_t before, bytes_before; /* of a move or resize */
    uint32_t op;                   /* enum kymo_map_op */
    uint32_t how;                  /* enum kymo_map_how */
} kymo_event_mapping;

/* This allocation was inherited from the process that this one was forked from. */
typedef struct kymo_event_inherit {
    uint32_t thread;
    uint32_t reserved;
    uint64_t time_ns;
    uint64_t id, address;
} kymo_event_inherit;

/* A label of the thread when it made an allocation. */
typedef struct kymo_event_live_label {
    const char *key;
    const char *text; /* NULL: a number */
    uint64_t number;  /* its bits */
    uint32_t kind;    /* enum kymo_mark_kind */
    uint32_t reserved;
} kymo_event_live_label;

#define KYMO_EVENT_LIVE_LABELS_MAX 64u

/* An allocation that was live when a segment of a recording began. */
typedef struct kymo_event_live {
    uint32_t thread;
    uint32_t stack;         /* KYMO_EVENT_NONE: not known */
    uint32_t stack_process; /* the process whose stack it is: the thread's own, or an ancestor */
    uint32_t reserved;
    uint64_t time_ns;  /* time of its last resize */
    uint64_t birth_ns; /* time of the allocation; not after time_ns */
    uint64_t id, address;
    uint64_t bytes;
    double weight; /* how many allocations it counts for; 1 or more */
    uint32_t slack;
    uint32_t family;
    uint32_t is_inherited; /* inherited from the process that this one was forked from */
    uint32_t label_count;  /* at most KYMO_EVENT_LIVE_LABELS_MAX */
    const kymo_event_live_label *labels;
} kymo_event_live;

/* How a process's memory is recorded; the last event of a process counts. */
typedef struct kymo_event_heap {
    uint32_t process;
    uint32_t allocator;    /* enum kymo_allocator */
    uint64_t rate;         /* the largest sampling rate: mean bytes between two draws; 1: every
                            * allocation */
    uint64_t map_least;    /* size of the smallest mapping that is recorded */
    uint64_t count, bytes; /* exact sums over all allocations that its threads reported */
    const char *not_seen;  /* names the modules whose allocations cannot be recorded; "": none */
} kymo_event_heap;

/* The lines of the RSS breakdown: doc/memory.md. */
typedef enum kymo_ledger_line {
    KYMO_LEDGER_LIVE = 1, /* live allocations; low, high: the 95 % interval */
    KYMO_LEDGER_SLACK,    /* in allocations, beyond the requested bytes */
    KYMO_LEDGER_RETAINED, /* free, kept by the allocator */
    KYMO_LEDGER_MAPPED,   /* mapped by the program; name: the function that mapped it */
    KYMO_LEDGER_STACKS,   /* of threads */
    KYMO_LEDGER_FILES,    /* code and data of files; name: the largest of them */
    KYMO_LEDGER_DATA,     /* written pages of the program's and libraries' data */
    KYMO_LEDGER_SHARED,   /* memory shared with other processes */
    KYMO_LEDGER_KYMO,
    KYMO_LEDGER_SYSTEM, /* the vdso and similar */
    KYMO_LEDGER_UNEXPLAINED,
    KYMO_LEDGER_RSS, /* the sum of all above, as in smaps */
    KYMO_LEDGER_LINES_SHOWN,
    /* Input from which the reader computes the lines above. */
    KYMO_LEDGER_PIECE = KYMO_LEDGER_LINES_SHOWN, /* private memory; low, high: its addresses;
                                                  * name: "heap" if brk made it */
    KYMO_LEDGER_SAID_ALLOCATED, /* by the allocator's count: bytes in allocations with their
                                 * overhead; low: time in ns */
    KYMO_LEDGER_SAID_FREE,
    KYMO_LEDGER_SAID_OWN,   /* the allocator's own data */
    KYMO_LEDGER_SAID_TAKEN, /* taken from the system and not returned */
    KYMO_LEDGER_LINES,
} kymo_ledger_line;

/* One line of a process's RSS breakdown at a time. */
typedef struct kymo_event_ledger {
    uint32_t process;
    uint32_t line; /* kymo_ledger_line */
    uint64_t time_ns;
    int64_t bytes;      /* resident; only UNEXPLAINED may be negative */
    uint64_t low, high; /* 0: exact */
    const char *name;   /* "": the whole line */
} kymo_event_ledger;

/* A single figure of a process's memory, not a counter over time: a limit, a setting. */
typedef struct kymo_event_memory_info {
    uint32_t process;
    uint32_t reserved;
    uint64_t time_ns;
    uint64_t value;
    const char *key; /* "cgroup.memory.max" */
} kymo_event_memory_info;

#endif
