/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_events.h - turns what the drain finds in a session into the events of a recording.
 *
 * Layer:    recorder
 * Flow:     buffer/drain.c -> [session_events] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   the caller owns the structure; deinit frees what it points to
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_SESSION_EVENTS_H
#define KYMO_RECORDER_SESSION_EVENTS_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "buffer/drain.h"
#include "buffer/drain_heap.h"
#include "buffer/session.h"
#include "observe/unseen.h"
#include "observe/wall.h"
#include "recorder/mark_events.h"
#include "recorder/row_tables.h"
#include "recording/events.h"
#include "symbolize/jit_code.h"

/* heap_events.c: turns the allocations and mappings of a session into the events of a recording.
 *
 * What gives memory past every function that is known is told by the balance: far more of its own
 * is resident than it was ever seen to ask for.
 *
 * Every record becomes an event: what a free ends, and what that amounts to, is for the reader to
 * find, who has all of it before him.
 */

/* Mappings of fewer bytes are not recorded: the allocators' own begin there. */
#define KYMO_HEAP_EVENTS_MAP_LEAST (64u << 10)

#define KYMO_HEAP_EVENTS_TEXT 512u /* bytes */

struct kymo_session_events;

/* How a process's memory is recorded. */
struct kymo_heap_events {
    uint64_t rate; /* mean bytes between two draws; 0: its memory is not recorded */
    struct kymo_drain_heap_totals told;
    int is_told;
    int was_off;                            /* for a while; what the process has may be from then */
    uint32_t allocator;                     /* as it was told */
    uint64_t own_bytes;                     /* of its memory, resident: kymo_ledger_own_bytes */
    uint64_t mapped_bytes;                  /* that the program mapped itself, so far */
    uint32_t missing_mib, told_missing_mib; /* resident, and no hook saw its allocation */
    uint32_t not_seen_len, told_len;
    char not_seen[KYMO_HEAP_EVENTS_TEXT]; /* modules that allocate past us */
};

/* Its context is a struct kymo_session_events. */
extern const struct kymo_drain_heap_sink kymo_heap_events_sink;

/* A module of the process: whether it allocates past us. */
void kymo_heap_events_module(struct kymo_heap_events *heap, kymo_unseen *unseen, const char *path);
/* What is known of the process's memory as a whole, if that has changed. */
KYMO_NODISCARD
kymo_err kymo_heap_events_tell(struct kymo_session_events *to, const kymo_drain *drain,
                               const struct kymo_session *session);

/* ---- session_events.c ---- */

#define KYMO_SAMPLE_BATCH 256u

/* A module that would be unwound faster with a row table. */
struct kymo_row_want {
    uint32_t file; /* of kymo_row_tables */
    uint64_t map_start, map_end, bias;
};

/* The first group is the caller's to set, the second its to read, the third private. */
struct kymo_session_events {
    const kymo_event_handler *events;
    void *context;
    uint32_t process; /* in the recording */
    uint64_t period_ns;
    pid_t pid;
    char executable[PATH_MAX]; /* what the process ran when it attached */
    kymo_wall *wall;           /* NULL: none; told of threads and samples */
    uint32_t *next_thread;     /* number of the recording's next thread; shared by its sessions */
    kymo_row_tables *tables;   /* NULL: none */
    kymo_unseen *unseen;       /* NULL: not requested */
    struct kymo_kernel_stacks *kernel_stacks; /* NULL: none */
    uint64_t main_cpu_ns;     /* CPU clock of the main thread at its end; 0: not known */
    uint64_t main_cpu_before; /* what it had used before this image */
    int deaf;     /* samples come no more: what threads used since their last one has none */
    int replaced; /* by exec, of what is not recorded: what the main thread used since its last
                   * sample is that image's */

    KYMO_VEC(struct kymo_row_want) wants; /* modules that have no row table yet */
    uint64_t samples;                     /* that came out */
    uint64_t taken;                       /* by the handlers of threads that have ended */
    uint64_t handler_ns;                  /* of those */
    uint64_t disturbed;                   /* system calls, for them */
    uint64_t cpu_ns;                      /* of those, in this image */
    uint64_t unsampled_ns;                /* CPU time that no sample stands for */
    uint64_t main_sampled_ns;             /* of the main thread, if it has ended: what of its time
                                           * samples stand for */

    KYMO_VEC(uint32_t) threads;                 /* numbers in the recording, by the drain's */
    KYMO_VEC(pid_t) tids;                       /* likewise */
    KYMO_VEC(uint32_t) by_tick;                 /* likewise: 1 once samples came with the tick */
    kymo_jit_code *jit;                         /* NULL: no memory for it */
    kymo_event_sample batch[KYMO_SAMPLE_BATCH]; /* of one thread, to be written together */
    uint32_t batched;
    uint32_t batch_thread;
    uint32_t batch_drained; /* the drain's number of the same */
    kymo_event_frame *frames;
    uint32_t frames_cap;
    struct kymo_mark_events marks;
    struct kymo_heap_events heap; /* its rate is the caller's to set */
};

/* What to give to kymo_drain_create. */
struct kymo_drain_sink kymo_session_events_sink(struct kymo_session_events *to);
/* Writes the samples that wait; to be called at the end of each round. */
KYMO_NODISCARD
kymo_err kymo_session_events_flush(struct kymo_session_events *to);
/* The recording's number of a thread that the drain has announced. */
uint32_t kymo_session_events_thread(const struct kymo_session_events *to, uint32_t drained);
void kymo_session_events_deinit(struct kymo_session_events *to);

#endif
