/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept.h - what a writer keeps of its events, to begin another segment.
 *
 * Layer:    recording
 * Flow:     recording_write_*.c (each event) -> [kept] -> the first chunks of the next segment
 * Threads:  the writer's
 * Memory:   the writer owns the structure. Definitions as in the file; for stacks 32 bytes for
 *           each frame that is not shared; and live_allocations.h
 * Signals:  not for handlers
 *
 * A segment is a complete recording: nothing in it refers to another segment. So definitions are
 * written again in each segment that needs them: at its begin for live processes, with their
 * modules and what their markers refer to; threads and stacks when an event refers to them.
 */
#ifndef KYMO_RECORDING_RECORDING_KEPT_H
#define KYMO_RECORDING_RECORDING_KEPT_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/key_map.h"
#include "base/vec.h"
#include "recording/live_allocations.h"
#include "recording/open_calls.h"
#include "recording/open_intervals.h"
#include "recording/recording.h"
#include "recording/recording_format.h"
#include "recording/recording_labels.h"

/* Ended processes that are kept: their events may come late, and their children look up
 * inherited allocations. */
#define KYMO_KEPT_ENDED 16u

/* The payload of a chunk as it was written. */
struct kymo_kept_chunk {
    enum kymo_chunk_type type;
    uint32_t id;  /* a later one of the same type and id replaces it */
    uint32_t len; /* bytes */
    unsigned char payload[];
};

typedef KYMO_VEC(struct kymo_kept_chunk *) kymo_kept_list;

/* A frame and its callers. */
struct kymo_kept_frame {
    uint64_t address;
    uint32_t module, flags;
    uint32_t caller; /* KYMO_EVENT_NONE: none */
    uint32_t reserved;
};

struct kymo_kept_stack {
    uint32_t innermost; /* a frame; KYMO_EVENT_NONE: none */
    uint32_t depth;
    uint32_t segment;
    uint16_t flags, end;
    struct kymo_kept_chunk *kernel; /* payload of a kernel stack, instead of frames */
};

/* The frames of one stack. */
struct kymo_kept_scratch {
    KYMO_VEC(kymo_event_frame) frames; /* innermost first */
};

/* Stacks as a tree: those with a common part share its frames. */
struct kymo_kept_stacks {
    KYMO_VEC(struct kymo_kept_frame) frames;
    kymo_index frame_index;
    KYMO_VEC(struct kymo_kept_stack) list;
    kymo_key_map ids; /* of list */
};

#define KYMO_KEPT_MODULE_CHUNKS 3u

struct kymo_kept_module {
    uint32_t segment; /* the last one that has it */
    uint32_t count;
    struct kymo_kept_chunk *chunks[KYMO_KEPT_MODULE_CHUNKS]; /* in the order in which they came */
};

/* Modules that were unloaded: a segment has those that its stacks need. */
struct kymo_kept_modules {
    KYMO_VEC(struct kymo_kept_module) list;
    kymo_key_map ids; /* of list */
};

/* The figures so far of which the last event counts. */
#define KYMO_KEPT_FIGURES 5u

struct kymo_kept_state {
    struct kymo_kept_chunk *chunk;      /* as it came: counted from the begin of the recording */
    uint64_t before[KYMO_KEPT_FIGURES]; /* its figures when the present interval began */
};

struct kymo_kept_process {
    int32_t pid, parent_pid;
    uint64_t start_ns;
    uint32_t segment; /* the last segment that has it */
    int has_ended;
    uint32_t heirs;                          /* live processes whose allocations use its stacks */
    KYMO_VEC(uint32_t) owners;               /* other processes whose stacks its allocations use */
    kymo_kept_list definitions;              /* its own process event first */
    struct kymo_kept_modules unloaded;       /* modules that are no definitions any more */
    KYMO_VEC(struct kymo_kept_state) states; /* events of which the last one counts */
    uint64_t cpu_ns;        /* of CPU samples in this interval, and in the ones before it */
    uint64_t cpu_before_ns; /* */
    KYMO_VEC(kymo_event_count) counts;
    struct kymo_kept_stacks stacks;
    struct kymo_live_allocations live;
    struct kymo_open_intervals open;
};

struct kymo_kept_thread {
    uint32_t thread;
    uint32_t process;
    uint32_t segment;
    int has_ended;
    struct kymo_kept_chunk *chunk;
    struct kymo_kept_chunk *name; /* NULL: its first name */
    uint64_t cpu_ns;              /* as of a process */
    uint64_t cpu_before_ns;
};

struct kymo_recording_kept {
    int is_on;
    uint32_t segment;                               /* number of the current segment, from 1 */
    kymo_kept_list common;                          /* definitions without a process, META first */
    kymo_bytes again;                               /* scratch: a payload to be written again */
    int is_again;                                   /* the stack being written is a repetition */
    KYMO_VEC(struct kymo_kept_process *) processes; /* by id; NULL: none, or dropped */
    KYMO_VEC(uint32_t) ended;                       /* ids, oldest first */
    KYMO_VEC(struct kymo_kept_thread) threads;
    kymo_key_map thread_ids;
    struct kymo_kept_labels labels; /* current labels of threads */
    struct kymo_open_calls open_calls;
    uint64_t end_ns; /* of the last segment */
    struct kymo_kept_scratch scratch;
};

void kymo_kept_deinit(struct kymo_recording_kept *kept);

/* ---- called when events are written, if kept->is_on ---- */

/* Before an event of a process or thread: makes sure that the segment has it. NONE is allowed. */
KYMO_NODISCARD
kymo_err kymo_kept_need_process(kymo_recording_writer *w, uint32_t process);
KYMO_NODISCARD
kymo_err kymo_kept_need_thread(kymo_recording_writer *w, uint32_t thread);
/* The same for a thread, and for a stack of its process. */
KYMO_NODISCARD
kymo_err kymo_kept_need_stack(kymo_recording_writer *w, uint32_t thread, uint32_t stack);
KYMO_NODISCARD
kymo_err kymo_kept_need_process_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack);

/* Before and after a chunk of one event; its payload is in w->event. *is_late: it is a figure of a
 * process that was forgotten, and is not to be written. A note of such a process becomes one of the
 * whole recording. */
KYMO_NODISCARD
kymo_err kymo_kept_before_chunk(kymo_recording_writer *w, enum kymo_chunk_type type, int *is_late);
KYMO_NODISCARD
kymo_err kymo_kept_after_chunk(kymo_recording_writer *w, enum kymo_chunk_type type);

/* When such an event is written: stacks, sites, markers, counters, labels, allocations. */
KYMO_NODISCARD
kymo_err kymo_kept_stack(kymo_recording_writer *w, const kymo_event_stack *e);
void kymo_kept_samples(kymo_recording_writer *w, const kymo_event_samples *e);
KYMO_NODISCARD
kymo_err kymo_kept_site(kymo_recording_writer *w, const kymo_event_site *e);
KYMO_NODISCARD
kymo_err kymo_kept_marker(kymo_recording_writer *w, const kymo_event_marker *e);
KYMO_NODISCARD
kymo_err kymo_kept_count(kymo_recording_writer *w, const kymo_event_count *e);
KYMO_NODISCARD
kymo_err kymo_kept_label(kymo_recording_writer *w, const kymo_event_label *e);
KYMO_NODISCARD
kymo_err kymo_kept_allocation(kymo_recording_writer *w, const kymo_event_allocation *e);
KYMO_NODISCARD
kymo_err kymo_kept_resize(kymo_recording_writer *w, const kymo_event_resize *e);
KYMO_NODISCARD
kymo_err kymo_kept_free(kymo_recording_writer *w, const kymo_event_free *e);
KYMO_NODISCARD
kymo_err kymo_kept_inherit(kymo_recording_writer *w, const kymo_event_inherit *e);

/* ---- at the begin of a segment ---- */

/* Writes the current state, as the first chunks of the next segment. start: of an interval; NULL:
 * the segment counts from the begin of the recording. */
KYMO_NODISCARD
kymo_err kymo_kept_begin(kymo_recording_writer *w, const struct kymo_interval_start *start);

/* ---- shared by recording_kept*.c ---- */

/* NULL: no such process, or dropped. */
struct kymo_kept_process *kymo_kept_process_of(const struct kymo_recording_kept *kept,
                                               uint32_t process);
struct kymo_kept_thread *kymo_kept_thread_of(const struct kymo_recording_kept *kept,
                                             uint32_t thread);
/* Copies the payload in w->event; NULL: no memory. */
struct kymo_kept_chunk *kymo_kept_copy(const kymo_recording_writer *w, enum kymo_chunk_type type,
                                       uint32_t id);
KYMO_NODISCARD
kymo_err kymo_kept_put_again(kymo_recording_writer *w, const struct kymo_kept_chunk *chunk);
/* recording_kept_figures.c: what counts from the begin of the recording, or of the interval. */
KYMO_NODISCARD
kymo_err kymo_kept_take_state(kymo_recording_writer *w, struct kymo_kept_process *p,
                              enum kymo_chunk_type type, uint32_t id);
KYMO_NODISCARD
kymo_err kymo_kept_put_states(kymo_recording_writer *w, const struct kymo_kept_process *p);
void kymo_kept_begin_figures(struct kymo_recording_kept *kept, int is_interval);
/* In w->event, the end of a process or a thread: takes off what earlier intervals have. */
void kymo_kept_shorten_end(kymo_recording_writer *w, enum kymo_chunk_type type);
/* recording_kept_stacks.c */
KYMO_NODISCARD
kymo_err kymo_kept_kernel_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack);
void kymo_kept_stacks_deinit(struct kymo_kept_stacks *stacks);
/* Forgets those whose ids are not in used. KYMO_E_NOMEM: none. */
KYMO_NODISCARD
kymo_err kymo_kept_stacks_sweep(struct kymo_kept_stacks *stacks, const kymo_key_map *used);
/* recording_kept_modules.c: of the definitions, those of a module become one that was unloaded. */
KYMO_NODISCARD
kymo_err kymo_kept_unload(const struct kymo_recording_kept *kept, struct kymo_kept_process *p,
                          uint32_t module);
/* Before a stack is written: makes sure that the segment has the unloaded modules of its frames. */
KYMO_NODISCARD
kymo_err kymo_kept_need_modules(kymo_recording_writer *w, struct kymo_kept_process *p,
                                const kymo_event_stack *e);
/* Forgets unloaded modules that no frame is in, but for those of this segment, which stacks that
 * have not been read may still name. */
KYMO_NODISCARD
kymo_err kymo_kept_modules_sweep(const struct kymo_recording_kept *kept,
                                 struct kymo_kept_process *p);
void kymo_kept_modules_deinit(struct kymo_kept_modules *modules);
/* recording_kept_heap.c: writes the live allocations of a process. */
KYMO_NODISCARD
kymo_err kymo_kept_put_live(kymo_recording_writer *w, uint32_t process);

#endif
