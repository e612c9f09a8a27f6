/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept.h - what a writer keeps of what it wrote, so that it can begin another segment.
 *
 * Layer:    recording
 * Flow:     recording_write_*.c (each event) -> [kept] -> the first blocks of the next segment
 * Threads:  the writer's
 * Memory:   the writer owns the structure. Definitions as they are in the file; of stacks 32 bytes
 * for each frame that is not shared; and live_blocks.h Signals:  not for handlers
 *
 * A segment is a recording of its own: nothing in it refers to another one. So each definition is
 * written again when a segment needs it: a process that runs, with its modules and what its markers
 * refer to, at the beginning; threads and stacks when an event refers to them.
 */
#ifndef KYMO_RECORDING_RECORDING_KEPT_H
#define KYMO_RECORDING_RECORDING_KEPT_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/key_map.h"
#include "base/vec.h"
#include "recording/live_blocks.h"
#include "recording/recording.h"
#include "recording/recording_format.h"
#include "recording/recording_labels.h"

/* Processes that ended and are still known: events of theirs may come late, and children look for
 * the blocks that they were born with. */
#define KYMO_KEPT_ENDED 16u

/* The payload of a block as it was written. */
struct kymo_kept_block {
    enum kymo_block_type type;
    uint32_t id;  /* a later one of its type and id takes its place */
    uint32_t len; /* bytes */
    unsigned char payload[];
};

typedef KYMO_VEC(struct kymo_kept_block *) kymo_kept_list;

/* A frame, and those that called it. */
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
    struct kymo_kept_block *kernel; /* of a kernel's stack, instead of frames */
};

struct kymo_kept_process {
    int32_t pid, parent_pid;
    uint64_t start_ns;
    uint32_t segment; /* that has it */
    int has_ended;
    uint32_t heirs;             /* processes that have not ended and have blocks with its stacks */
    KYMO_VEC(uint32_t) owners;  /* of stacks of its blocks, beside itself */
    kymo_kept_list definitions; /* its own first */
    kymo_kept_list states;      /* of which the last one counts */
    KYMO_VEC(kymo_event_count) counts;
    KYMO_VEC(struct kymo_kept_frame) frames;
    kymo_index frame_index;
    KYMO_VEC(struct kymo_kept_stack) stacks;
    kymo_key_map stack_ids;
    struct kymo_live_blocks live;
};

struct kymo_kept_thread {
    uint32_t thread;
    uint32_t process;
    uint32_t segment;
    int has_ended;
    struct kymo_kept_block *block;
    struct kymo_kept_block *name; /* NULL: as at first */
};

struct kymo_recording_kept {
    int is_on;
    uint32_t segment;      /* the one that is written, from 1 */
    kymo_kept_list common; /* definitions of no process, META first */
    kymo_bytes again;      /* scratch: a payload that is written again */
    int is_again;          /* the stack that is written was written before */
    KYMO_VEC(struct kymo_kept_process *) processes; /* by id; NULL: none, or forgotten */
    KYMO_VEC(uint32_t) ended;                       /* ids, oldest first */
    KYMO_VEC(struct kymo_kept_thread) threads;
    kymo_key_map thread_ids;
    struct kymo_kept_labels labels;     /* that threads have now */
    KYMO_VEC(kymo_event_frame) scratch; /* of one stack */
};

void kymo_kept_deinit(struct kymo_recording_kept *kept);

/* ---- as events are written, if kept->is_on ---- */

/* Before an event of a process or thread is written: the segment has it. NONE is allowed. */
KYMO_NODISCARD
kymo_err kymo_kept_need_process(kymo_recording_writer *w, uint32_t process);
KYMO_NODISCARD
kymo_err kymo_kept_need_thread(kymo_recording_writer *w, uint32_t thread);
/* The same of a thread, and of a stack of its process. */
KYMO_NODISCARD
kymo_err kymo_kept_need_stack(kymo_recording_writer *w, uint32_t thread, uint32_t stack);
KYMO_NODISCARD
kymo_err kymo_kept_need_process_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack);

/* Before and after a block of one event is written, whose payload is in w->event. */
KYMO_NODISCARD
kymo_err kymo_kept_before_block(kymo_recording_writer *w, enum kymo_block_type type);
KYMO_NODISCARD
kymo_err kymo_kept_after_block(kymo_recording_writer *w, enum kymo_block_type type);

/* When such an event is written: stacks, counters, labels, blocks of memory. */
KYMO_NODISCARD
kymo_err kymo_kept_stack(kymo_recording_writer *w, const kymo_event_stack *e);
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

/* ---- a segment begins ---- */

/* Writes what lives, as the first blocks of the next segment. */
KYMO_NODISCARD
kymo_err kymo_kept_begin(kymo_recording_writer *w);

/* ---- between recording_kept*.c ---- */

/* NULL: there is none, or it is forgotten. */
struct kymo_kept_process *kymo_kept_process_of(const struct kymo_recording_kept *kept,
                                               uint32_t process);
struct kymo_kept_thread *kymo_kept_thread_of(const struct kymo_recording_kept *kept,
                                             uint32_t thread);
/* Of the payload in w->event; NULL: no memory. */
struct kymo_kept_block *kymo_kept_copy(const kymo_recording_writer *w, enum kymo_block_type type,
                                       uint32_t id);
KYMO_NODISCARD
kymo_err kymo_kept_put_again(kymo_recording_writer *w, const struct kymo_kept_block *block);
/* recording_kept_stacks.c */
KYMO_NODISCARD
kymo_err kymo_kept_kernel_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack);
/* recording_kept_heap.c: the blocks of a process that there is. */
KYMO_NODISCARD
kymo_err kymo_kept_put_blocks(kymo_recording_writer *w, uint32_t process);

#endif
