/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_events.h - turns the records that the drain reads into the events of a recording.
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
#include "buffer/python_task.h"
#include "buffer/session.h"
#include "observe/stack_copies.h"
#include "observe/unseen.h"
#include "observe/wall.h"
#include "recorder/mark_events.h"
#include "recorder/python_events.h"
#include "recorder/row_tables.h"
#include "recorder/trace_events.h"
#include "recording/events.h"
#include "symbolize/jit_code.h"

/* heap_events.c: turns allocation and mapping records of a session into the events of a
 * recording.
 *
 * Allocators that no hook sees are found by comparison: the process has far more private memory
 * resident than it was seen to request.
 *
 * Each record becomes one event. Frees are matched with allocations when the recording is read. */

/* Smaller mappings are not recorded: allocators make those. */
#define KYMO_HEAP_EVENTS_MAP_LEAST (64u << 10)

#define KYMO_HEAP_EVENTS_TEXT 512u /* bytes */

struct kymo_session_events;

/* State of recording one process's memory. */
struct kymo_heap_events {
    uint64_t rate; /* sampling rate: mean bytes between two draws; 0: off */
    struct kymo_drain_heap_totals told;
    int is_told;
    int was_off;                            /* was off for a while: allocations of that time are
                                             * missing */
    uint32_t allocator;                     /* as last recorded */
    uint64_t own_bytes;                     /* resident private memory: kymo_ledger_own_bytes */
    uint64_t mapped_bytes;                  /* mapped by the program so far */
    uint32_t missing_mib, told_missing_mib; /* resident memory that no hook saw being requested */
    uint32_t not_seen_len, told_len;
    char not_seen[KYMO_HEAP_EVENTS_TEXT]; /* modules with allocators that are not hooked */
};

/* Its context is a struct kymo_session_events. */
extern const struct kymo_drain_heap_sink kymo_heap_events_sink;

/* Checks whether a module of the process has an allocator that is not hooked. */
void kymo_heap_events_module(struct kymo_heap_events *heap, kymo_unseen *unseen, const char *path);
/* Writes the figures of the process's memory, if they have changed. */
KYMO_NODISCARD
kymo_err kymo_heap_events_tell(struct kymo_session_events *to, const kymo_drain *drain,
                               const struct kymo_session *session);

/* ---- session_events.c ---- */

#define KYMO_SAMPLE_BATCH 256u

/* A module that could be unwound faster with a row table. */
struct kymo_row_want {
    uint32_t file; /* number in kymo_row_tables */
    uint64_t map_start, map_end, bias;
};

/* Samples of a thread that no handler took. */
struct kymo_copied_count {
    uint64_t samples;
    uint64_t cpu_ns;
    uint64_t owed_ns; /* used since a handler's last one when copies began: the first copy has it */
};

/* The caller sets the first group and reads the second; the third is private. */
struct kymo_session_events {
    const kymo_event_handler *events;
    void *context;
    uint32_t process; /* in the recording */
    uint64_t period_ns;
    pid_t pid;
    struct kymo_session *session; /* gets an interpreter that is loaded later */
    uint64_t last_end_ns;         /* of its threads */
    char executable[PATH_MAX];    /* the executable when it attached */
    char main_name[16];           /* of the main thread then; empty: not known */
    kymo_wall *wall;              /* NULL: none; gets threads and samples */
    uint32_t *next_thread;   /* number of the recording's next thread, shared by its sessions */
    kymo_row_tables *tables; /* NULL: none */
    kymo_unseen *unseen;     /* NULL: not requested */
    struct kymo_kernel_stacks *kernel_stacks; /* NULL: none */
    kymo_stack_copies *copies;                /* NULL: none */
    uint64_t main_cpu_ns;     /* CPU clock of the main thread at its end; 0: not known */
    uint64_t main_cpu_before; /* its value when its samples began */
    uint64_t startup_ns;      /* of that, what it used in this image: has a sample of its own */
    uint32_t startup_thread;  /* in the recording: who has that sample; KYMO_EVENT_NONE: nobody */
    uint32_t pauses;          /* as kymo_session has it */
    int deaf;                 /* samples have stopped: CPU time since the last one is not sampled */
    int replaced; /* an exec to an unrecorded program: CPU time of the main thread since its last
                   * sample is that program's */

    KYMO_VEC(struct kymo_row_want) wants; /* modules that have no row table yet */
    uint64_t samples;                     /* by handlers, so far */
    uint64_t taken;                       /* samples by the handlers of ended threads */
    uint64_t handler_ns;                  /* time in handlers of those threads */
    uint64_t disturbed;                   /* interrupted system calls (EINTR) of those threads */
    uint64_t cpu_ns;                      /* CPU time of those threads in this image */
    uint64_t unsampled_ns;                /* CPU time that is in no sample */
    uint64_t main_sampled_ns;             /* CPU time of the main thread that is in samples, once
                                           * it has ended */

    KYMO_VEC(uint32_t)
    threads;                 /* numbers in the recording, by the drain's
                              * number */
    KYMO_VEC(pid_t) tids;    /* by the drain's number */
    KYMO_VEC(uint8_t) named; /* by the drain's number: 1: a tracer has said its name */
    KYMO_VEC(uint32_t)
    by_tick; /* by the drain's number: 1 once samples were
              * taken at a tick */
    KYMO_VEC(uint64_t)
    paused_ns; /* by the drain's number: CPU time in pauses that is in
                * unsampled_ns */
    KYMO_VEC(struct kymo_copied_count) copied;  /* by the drain's number */
    kymo_jit_code *jit;                         /* NULL: no memory for it */
    kymo_event_sample batch[KYMO_SAMPLE_BATCH]; /* samples of one thread, to be written together */
    uint32_t batched;
    uint32_t batch_thread;
    uint32_t batch_drained; /* the drain's number of that thread */
    /* Of the sample that is read now: its time, and the task that its handler has labelled it with.
     * The label is read before it. */
    uint64_t sample_ns, task_ns;
    uint32_t task_drained;
    struct kymo_python_task task;
    kymo_event_frame *frames;
    uint32_t frames_cap;
    struct kymo_python_events python;
    struct kymo_python_events python_outside; /* of stacks of threads that wait */
    struct kymo_mark_events marks;
    struct kymo_heap_events heap; /* the caller sets its rate */
};

/* The sink for kymo_drain_create. */
struct kymo_drain_sink kymo_session_events_sink(struct kymo_session_events *to);
/* The one for kymo_wall_set_python. */
struct kymo_remote_python_sink kymo_session_events_python(struct kymo_session_events *to);
/* Writes the samples in the batch; call at the end of each round. */
KYMO_NODISCARD
kymo_err kymo_session_events_flush(struct kymo_session_events *to);
/* A thread's CPU time in pauses, by now; it is not sampled. drained: the drain's number. */
void kymo_session_events_paused(struct kymo_session_events *to, uint32_t drained,
                                uint64_t paused_cpu_ns);
/* A sample that no handler took; its thread is by the drain's number. */
KYMO_NODISCARD
kymo_err kymo_session_events_copied(struct kymo_session_events *to,
                                    const struct kymo_copied_sample *sample);
/* The recording's number of a thread, by the drain's number. */
uint32_t kymo_session_events_thread(const struct kymo_session_events *to, uint32_t drained);
void kymo_session_events_deinit(struct kymo_session_events *to);

#endif
