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
#include "base/hash.h"
#include "base/key_map.h"
#include "base/vec.h"
#include "buffer/drain.h"
#include "buffer/python_task.h"
#include "buffer/session.h"
#include "observe/remote.h"
#include "observe/remote_python.h"
#include "recording/events.h"
#include "symbolize/jit_code.h"

/* ---- wall_stacks.c: stacks that were walked from outside, and names of calls, as events ----
 *
 * The drain numbers the stacks and modules that it finds in the session from 0; those from outside
 * are numbered from KYMO_WALL_FIRST on (those with the kernel's part from 0x80000000), modules up
 * to KYMO_JIT_FIRST_MODULE. A module may so have two numbers; who reads the recording finds that
 * they are the same.
 */

#define KYMO_WALL_FIRST 0xc0000000u
/* The stack of a process's start (KYMO_EVENT_FRAME_STARTUP). */
#define KYMO_STARTUP_STACK 0x7fffffffu

/* Names of waits, one table for the whole recording: by the number of the system call. */
typedef struct kymo_wait_names kymo_wait_names;
enum { KYMO_WAIT_STOPPED = -2, KYMO_WAIT_NONE = -1 };

KYMO_NODISCARD
kymo_err kymo_wait_names_create(const kymo_event_handler *events, void *context,
                                kymo_wait_names **out);
void kymo_wait_names_destroy(kymo_wait_names *names);
/* The wait's id, which is announced when it is new; 0 for what has no name. */
KYMO_NODISCARD
kymo_err kymo_wait_names_get(kymo_wait_names *names, int call, uint32_t *wait);

struct kymo_wall_stack {
    uint32_t id;
    uint32_t first; /* in pcs */
    uint32_t n;
    uint32_t flags;
    uint64_t generation; /* of the modules */
};

/* Private but for remote, python, jit and pcs_most. */
struct kymo_wall_stacks {
    const kymo_event_handler *events;
    void *context;
    uint32_t process;
    kymo_remote *remote;
    kymo_jit_code *jit;         /* told of what is outside every module; may be NULL */
    kymo_remote_python *python; /* NULL: there is none */
    uint32_t pcs_most;          /* that are kept; 0: 8 M */
    uint32_t next_module, next_stack;
    KYMO_VEC(struct kymo_wall_stack) stacks;
    KYMO_VEC(uint64_t) pcs;
    KYMO_VEC(kymo_event_frame) frames; /* scratch */
    kymo_index index;
};

/* The id of the stack that a walk found; it is announced when it is new. pcs may have KYMO_PC_EXACT
 * and KYMO_PC_PYTHON. */
KYMO_NODISCARD
kymo_err kymo_wall_stacks_get(struct kymo_wall_stacks *s, const uint64_t *pcs, size_t n,
                              const struct kymo_walk_result *walk, uint32_t *id);
/* Adds the ids that it may give again. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_wall_stacks_use(const struct kymo_wall_stacks *s, kymo_key_map *used);
void kymo_wall_stacks_deinit(struct kymo_wall_stacks *s);

/* frame_base.c: the frame pointer of a function of another process, told from its stack pointer.
 *
 * From outside, a waiting thread's stack pointer is known and its frame pointer is not. A function
 * that keeps a frame pointer sets it once, and lowers its stack pointer by a constant: so at each
 * of its calls it lies the same distance above the stack pointer, unless it uses alloca or the
 * like. The distance is what its first instructions say, or what a thread that was asked had there.
 * It is believed if what it leads to is a return address behind a call of this very function.
 */

/* Private. */
struct kymo_frame_base {
    uint64_t key;
    uint64_t distance;
    uint32_t source;
};

/* Of zero bytes: empty. */
struct kymo_frame_bases {
    KYMO_VEC(struct kymo_frame_base) entries;
    kymo_index index;
};

void kymo_frame_bases_deinit(struct kymo_frame_bases *bases);

/* A frame whose CFA counts from its frame pointer: its pc (one less for a return address), its
 * stack pointer. */
struct kymo_remote_frame {
    uint64_t pc, sp;
};

/* Returns 0 if its frame pointer is not to be told. */
int kymo_frame_base_guess(struct kymo_frame_bases *bases, kymo_remote *remote,
                          const struct kymo_remote_frame *frame, uint64_t *fp);
/* A thread had this frame pointer there. */
void kymo_frame_base_learn(struct kymo_frame_bases *bases, kymo_remote *remote,
                           const struct kymo_remote_frame *frame, uint64_t fp);

/* ---- wall_find.c ---- */

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
    uint64_t retry_ns; /* of reading the process's memory, or what is mapped */
    uint64_t retry_after_ns;
    uint32_t module_generation;
    int descriptor_limit;
    uint32_t depth;
    uint64_t *pcs, *sps;
    /* That the thread runs which was found last; of a process whose calls are not traced: there the
     * tracer sets the label. */
    struct kymo_python_task task;
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
    struct kymo_remote_python_thread python;
};

/* Where it is. */
struct kymo_wall_found {
    int is_running;
    int is_over;      /* its memory is gone: it is on the kernel's way out */
    int may_ask;      /* its stack is unclear, and its call begins again after a signal */
    int lacks_module; /* its stack ends in code of no module that is known */
    int call;         /* number of the system call; KYMO_WAIT_NONE: not known */
    uint64_t ip, sp;  /* 0: not to be read */
    uint32_t stack;
};

KYMO_NODISCARD
kymo_err kymo_wall_finder_init(struct kymo_wall_finder *finder);
void kymo_wall_finder_deinit(struct kymo_wall_finder *finder);
/* Stacks get Python frames, if the session's process has an interpreter. */
KYMO_NODISCARD
kymo_err kymo_wall_finder_set_python(struct kymo_wall_finder *finder,
                                     const struct kymo_remote_python_sink *sink);
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
