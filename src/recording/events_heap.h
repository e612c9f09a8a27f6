/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_heap.h - what a recording says of memory; a part of events.h, whose rules hold.
 *
 * Layer:    recording
 * Flow:     as events.h
 *
 * Block ids are unique in a process and in those it was forked from. Events of one thread are in
 * the order in which they happened; those of different threads by their times only.
 */
#ifndef KYMO_RECORDING_EVENTS_HEAP_H
#define KYMO_RECORDING_EVENTS_HEAP_H

#include <stdint.h>

/* A block that was drawn. Its weight follows from bytes and rate: profile/estimate.h. */
typedef struct kymo_event_allocation {
    uint32_t thread;
    uint32_t stack; /* KYMO_EVENT_NONE: not known */
    uint64_t time_ns;
    uint64_t id, address;
    uint64_t bytes;  /* as asked for */
    uint64_t rate;   /* mean bytes between two draws; 1: every allocation was recorded */
    uint32_t slack;  /* usable beyond bytes */
    uint32_t family; /* enum kymo_alloc_family of buffer/record.h */
} kymo_event_allocation;

typedef struct kymo_event_free {
    uint32_t thread;
    uint32_t count; /* lower half of how many allocations this thread had made */
    uint64_t time_ns;
    uint64_t id;
} kymo_event_free;

#define KYMO_RESIZE_DRAWN_BEFORE 1u
#define KYMO_RESIZE_DRAWN_NOW 2u /* by this call */

/* A block has another size, and perhaps place. */
typedef struct kymo_event_resize {
    kymo_event_allocation now;
    uint64_t usable_before; /* bytes */
    uint32_t was_drawn;     /* KYMO_RESIZE_DRAWN_* */
    uint32_t reserved;
} kymo_event_resize;

typedef struct kymo_event_mapping {
    uint32_t thread;
    uint32_t stack; /* KYMO_EVENT_NONE: not known, or it takes away */
    uint64_t time_ns;
    uint64_t address, bytes;
    uint64_t before, bytes_before; /* of a move */
    uint32_t op;                   /* enum kymo_map_op */
    uint32_t how;                  /* enum kymo_map_how */
} kymo_event_mapping;

/* This block of the process that this one was forked from was there at the fork. */
typedef struct kymo_event_inherit {
    uint32_t thread;
    uint32_t reserved;
    uint64_t time_ns;
    uint64_t id, address;
} kymo_event_inherit;

/* A label that a block was born with. */
typedef struct kymo_event_live_label {
    const char *key;
    const char *text; /* NULL: a number */
    uint64_t number;  /* its bits */
    uint32_t kind;    /* enum kymo_mark_kind */
    uint32_t reserved;
} kymo_event_live_label;

#define KYMO_EVENT_LIVE_LABELS_MAX 64u

/* A block that was there when a segment of a recording began: allocated before it. */
typedef struct kymo_event_live {
    uint32_t thread;
    uint32_t stack;         /* KYMO_EVENT_NONE: not known */
    uint32_t stack_process; /* the one that made the stack: the thread's, or one before it */
    uint32_t reserved;
    uint64_t time_ns;  /* since when it has this size */
    uint64_t birth_ns; /* since when it is there; not after time_ns */
    uint64_t id, address;
    uint64_t bytes;
    double weight; /* how many blocks it stands for; 1 or more */
    uint32_t slack;
    uint32_t family;
    uint32_t is_inherited; /* from the process that this one was forked from */
    uint32_t label_count;  /* at most KYMO_EVENT_LIVE_LABELS_MAX */
    const kymo_event_live_label *labels;
} kymo_event_live;

/* What a process's recording of memory is; the last one of a process counts. */
typedef struct kymo_event_heap {
    uint32_t process;
    uint32_t allocator;    /* enum kymo_allocator */
    uint64_t rate;         /* the largest asked for: mean bytes between two draws; 1: every one */
    uint64_t map_least;    /* bytes of the least mapping that is recorded */
    uint64_t count, bytes; /* exact, of all allocations of its threads, as far as they told */
    const char *not_seen; /* a line of what allocates and cannot be recorded, by module; "": none */
} kymo_event_heap;

/* The lines of the ledger: doc/memory.md. */
typedef enum kymo_ledger_line {
    KYMO_LEDGER_LIVE = 1, /* blocks of the heap; low, high: its interval of 95 % */
    KYMO_LEDGER_SLACK,    /* in blocks, beyond what was asked for */
    KYMO_LEDGER_RETAINED, /* free, and kept by the allocator */
    KYMO_LEDGER_MAPPED,   /* by the program itself; name: the function that did */
    KYMO_LEDGER_STACKS,   /* of threads */
    KYMO_LEDGER_FILES,    /* code and data of files; name: the largest of them */
    KYMO_LEDGER_DATA,     /* written pages of the program's and libraries' data */
    KYMO_LEDGER_SHARED,   /* memory shared with other processes */
    KYMO_LEDGER_KYMO,
    KYMO_LEDGER_SYSTEM, /* vdso and the like */
    KYMO_LEDGER_UNEXPLAINED,
    KYMO_LEDGER_RSS, /* the sum of those above, as smaps has it */
    KYMO_LEDGER_LINES_SHOWN,
    /* What the reader makes the lines of blocks, mappings and the rest of. */
    KYMO_LEDGER_PIECE = KYMO_LEDGER_LINES_SHOWN, /* memory of the process's own; low, high: where it
                                                  * lies; name: "heap" if brk gave it */
    KYMO_LEDGER_SAID_ALLOCATED, /* by the allocator; low: when, in ns. In blocks, with all they take
                                 */
    KYMO_LEDGER_SAID_FREE,
    KYMO_LEDGER_SAID_OWN,   /* what it needs for itself */
    KYMO_LEDGER_SAID_TAKEN, /* from the system, and not given back */
    KYMO_LEDGER_LINES,
} kymo_ledger_line;

/* One line of a process's ledger at a time. */
typedef struct kymo_event_ledger {
    uint32_t process;
    uint32_t line; /* kymo_ledger_line */
    uint64_t time_ns;
    int64_t bytes;      /* resident; only UNEXPLAINED may be negative */
    uint64_t low, high; /* 0: exact */
    const char *name;   /* "": the line as a whole */
} kymo_event_ledger;

/* One figure of a process's memory at a time, that is no curve: a limit, a setting. */
typedef struct kymo_event_memory_info {
    uint32_t process;
    uint32_t reserved;
    uint64_t time_ns;
    uint64_t value;
    const char *key; /* "cgroup.memory.max" */
} kymo_event_memory_info;

#endif
