/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_find.h - where in the program a thread waits, and in which call.
 *
 * Layer:    observe
 * Flow:     /proc/PID/task/TID/syscall, remote.c -> [wall_find] -> wall.c
 * Threads:  the recorder's main thread
 * Memory:   the caller's structures; what they point to is freed by deinit
 * Signals:  not for handlers; sends one to a thread whose stack cannot be read from outside
 */
#ifndef KYMO_OBSERVE_WALL_FIND_H
#define KYMO_OBSERVE_WALL_FIND_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/drain.h"
#include "buffer/session.h"
#include "observe/frame_base.h"
#include "observe/wall_stacks.h"

#define KYMO_WALL_PLACES 4u

/* One for a process. The first group is the caller's to set. */
struct kymo_wall_finder {
    struct kymo_session *session;
    pid_t pid;
    kymo_remote_store *store;
    struct kymo_frame_bases *bases;
    struct kymo_wall_stacks stacks; /* its events, context and process */

    int is_deaf;    /* the process has no handler of ours any more: no thread is asked */
    uint64_t looks; /* threads times ticks: what the number of signals is held to */
    uint64_t disturbed;
    uint64_t asks;
    uint64_t retry_ns; /* of reading the process's memory */
    uint64_t retry_after_ns;
    uint32_t module_generation;
    int descriptor_limit;
    uint32_t depth;
    uint64_t *pcs;
};

/* Where a thread was asked for its stack, and what it said. */
struct kymo_wall_place {
    struct kymo_regs regs;
    uint64_t callers; /* hash of what lies above the innermost frame */
    uint32_t stack;   /* of the drain */
    int is_known;
};

/* What is kept of a thread. */
struct kymo_wall_memory {
    pid_t tid;
    int call; /* descriptor of its syscall file; -1: opened for each look */
    uint32_t next_place;
    struct kymo_wall_place places[KYMO_WALL_PLACES];
};

/* Where it is. */
struct kymo_wall_found {
    int is_running;
    int is_over;     /* its memory is gone: it is on the kernel's way out */
    int may_ask;     /* its stack is unclear, and its call begins again after a signal */
    int call;        /* number of the system call; KYMO_WAIT_NONE: not known */
    uint64_t ip, sp; /* 0: not to be read */
    uint32_t stack;
};

KYMO_NODISCARD
kymo_err kymo_wall_finder_init(struct kymo_wall_finder *finder);
void kymo_wall_finder_deinit(struct kymo_wall_finder *finder);
/* At the beginning of each tick: what is mapped may have changed. */
KYMO_NODISCARD
kymo_err kymo_wall_finder_begin(struct kymo_wall_finder *finder, uint64_t now_ns);

/* Looks at a thread that is off its CPU. */
KYMO_NODISCARD
kymo_err kymo_wall_find(struct kymo_wall_finder *finder, struct kymo_wall_memory *memory,
                        uint64_t now_ns, struct kymo_wall_found *found);
/* Asks one whose stack is unclear, which will come as an answer; 0 if there were too many. */
int kymo_wall_ask_unclear(struct kymo_wall_finder *finder, const struct kymo_wall_memory *memory);
/* Its answer is remembered. Whether it was given where the thread was found: is_same. */
void kymo_wall_remember(struct kymo_wall_finder *finder, struct kymo_wall_memory *memory,
                        const struct kymo_drain_answer *answer);
int kymo_wall_is_same(const struct kymo_drain_answer *answer, uint64_t ip, uint64_t sp);
void kymo_wall_memory_deinit(struct kymo_wall_memory *memory);

#endif
